// Reads the attributes of an operator from a model file. Rejects values that are not numbers or are out of
// range, because a cast would change them. The message names the attribute.
#pragma once

#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

#include "base/norm_rule.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::dnn {

constexpr int kMostBlocks = 9999;
constexpr int kMostSpecialTokens = 65535;

int wholeAttribute(const cv::dnn::LayerParams& params, const char* name, int fallback, int lowest,
                   int highest);
/// Returns an empty list if the attribute is absent.
std::vector<int> wholeAttributes(const cv::dnn::LayerParams& params, const char* name, int lowest,
                                 int highest);
/// Reads 0 or 1; false if the attribute is absent.
bool switchAttribute(const cv::dnn::LayerParams& params, const char* name);
/// Reads a finite number. `lowest` may be minus infinity.
float numberAttribute(const cv::dnn::LayerParams& params, const char* name, float fallback, float lowest);
/// Reads PREFIXepsilon and PREFIXnorm; absent attributes have the values of `usual`.
NormRule normAttributes(const cv::dnn::LayerParams& params, const std::string& prefix, const NormRule& usual);
/// Returns whether an attribute is `other`; false if absent. Throws if the value is not `usual` or `other`.
bool choiceAttribute(const cv::dnn::LayerParams& params, const char* name, const char* usual,
                     const char* other);
/// Reads `activation`; None if the attribute is absent.
kernels::Activation activationAttribute(const cv::dnn::LayerParams& params);
std::string textAttribute(const cv::dnn::LayerParams& params, const char* name, const std::string& fallback);

/// Throws "mpm: TYPE's attribute NAME must be EXPECTED"; TYPE is the layer's type, such as MpmResize.
[[noreturn]] void rejectAttribute(const cv::dnn::LayerParams& params, const char* name,
                                  const std::string& expected);

}  // namespace mpm::dnn

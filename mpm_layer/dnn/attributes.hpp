// Reads the attributes of an operator from a model file. A value that is not a number, or is out of range, is
// rejected with the attribute's name: a cast would turn it into another value.
#pragma once

#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

#include "base/norm_rule.hpp"

namespace mpm::dnn {

/// Largest block number.
constexpr int kMostBlocks = 9999;
/// Limit of class, distillation and register tokens of an image.
constexpr int kMostSpecialTokens = 65535;

int wholeAttribute(const cv::dnn::LayerParams& params, const char* name, int fallback, int lowest,
                   int highest);
/// Empty if the attribute is absent.
std::vector<int> wholeAttributes(const cv::dnn::LayerParams& params, const char* name, int lowest,
                                 int highest);
/// The file's value must be 0 or 1; false if the attribute is absent.
bool switchAttribute(const cv::dnn::LayerParams& params, const char* name);
/// The number must be finite. `lowest` may be minus infinity.
float numberAttribute(const cv::dnn::LayerParams& params, const char* name, float fallback, float lowest);
/// Reads PREFIXepsilon and PREFIXnorm; absent attributes have the values of `usual`.
NormRule normAttributes(const cv::dnn::LayerParams& params, const std::string& prefix, const NormRule& usual);
std::string textAttribute(const cv::dnn::LayerParams& params, const char* name, const std::string& fallback);

/// Throws "mpm: MpmResize's attribute NAME must be EXPECTED".
[[noreturn]] void rejectAttribute(const cv::dnn::LayerParams& params, const char* name,
                                  const std::string& expected);

}  // namespace mpm::dnn

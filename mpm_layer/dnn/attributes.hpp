// Attributes of an operator as a model file gives them. A value that is no number, or is out of its range,
// is rejected by name: a cast would turn it into another one.
#pragma once

#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

#include "base/norm_rule.hpp"

namespace mpm::dnn {

/// Numbers of blocks, as a schedule may name them.
constexpr int kMostBlocks = 9999;
/// Class, distillation and register tokens in front of an image's own.
constexpr int kMostSpecialTokens = 65535;

int wholeAttribute(const cv::dnn::LayerParams& params, const char* name, int fallback, int lowest,
                   int highest);
/// Empty if it is absent.
std::vector<int> wholeAttributes(const cv::dnn::LayerParams& params, const char* name, int lowest,
                                 int highest);
/// False if it is absent; else 0 or 1.
bool switchAttribute(const cv::dnn::LayerParams& params, const char* name);
/// Finite; `lowest` may be minus infinity.
float numberAttribute(const cv::dnn::LayerParams& params, const char* name, float fallback, float lowest);
/// Attributes `epsilon` and `norm` behind a prefix; an absent one is as in `usual`.
NormRule normAttributes(const cv::dnn::LayerParams& params, const std::string& prefix, const NormRule& usual);
std::string textAttribute(const cv::dnn::LayerParams& params, const char* name, const std::string& fallback);

/// "mpm: MpmResize: name must be expected".
[[noreturn]] void rejectAttribute(const cv::dnn::LayerParams& params, const char* name,
                                  const std::string& expected);

}  // namespace mpm::dnn

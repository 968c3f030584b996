// From logits to labels, without ever holding classes x height x width.
#pragma once

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct Labels {
    cv::Mat ids;     ///< CV_8U up to 256 classes, else CV_16U
    cv::Mat scores;  ///< CV_32F, probability of the winner; empty if not requested
};

/// logits: CV_32F, 1xCxhxw or Cxhxw. Stretched to `size` (bilinear, half-pixel centres), then the largest
/// class of each pixel; the lowest on ties.
Labels argmaxStretched(const cv::Mat& logits, cv::Size size, bool scores = false);

}  // namespace mpm::pipeline

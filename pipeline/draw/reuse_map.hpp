// Which image tokens a frame computed again, and why.
#pragma once

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// The frame in grey, recomputed tokens in colour: orange if they changed, blue if they were
/// refreshed by age, magenta if a change was postponed. `image`: CV_8UC3; `reasons`: CV_8U 1xN, a
/// ReuseReason for each token; `grid`: tokens across and down.
cv::Mat drawReuseMap(const cv::Mat& image, const cv::Mat& reasons, cv::Size grid);

}  // namespace mpm::pipeline

// --show: a window. The only file that uses highgui.
#pragma once

#include <opencv2/core.hpp>

namespace mpm::cli {

/// Throws Error(kFailed) where there is no display.
void checkDisplay();

/// False once the user pressed q or Escape, or closed the window.
bool showImage(const cv::Mat& image);

}  // namespace mpm::cli

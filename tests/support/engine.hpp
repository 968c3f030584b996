// Tells which engine of OpenCV reads a network.
#pragma once

#include <cstdlib>
#include <string>

#include <opencv2/core/version.hpp>

namespace mpm::test {

/// Returns whether OpenCV 5's new engine reads networks, not the classic one (OPENCV_FORCE_DNN_ENGINE=1).
inline bool hasDynamicShapes() {
#if CV_VERSION_MAJOR >= 5
    const char* forced = std::getenv("OPENCV_FORCE_DNN_ENGINE");
    return !forced || std::string(forced) != "1";
#else
    return false;
#endif
}

}  // namespace mpm::test

// Which engine of OpenCV reads a network.
#pragma once

#include <cstdlib>
#include <string>

#include <opencv2/core/version.hpp>

namespace mpm::test {

/// Whether OpenCV 5's new engine reads networks. OPENCV_FORCE_DNN_ENGINE=1 selects the classic engine.
inline bool hasDynamicShapes() {
#if CV_VERSION_MAJOR >= 5
    const char* forced = std::getenv("OPENCV_FORCE_DNN_ENGINE");
    return !forced || std::string(forced) != "1";
#else
    return false;
#endif
}

}  // namespace mpm::test

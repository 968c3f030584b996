// A replacement for OpenCV's highgui module, which the wheel lacks.
#pragma once

#include <opencv2/core.hpp>

namespace cv {

enum WindowPropertyFlags { WND_PROP_VISIBLE = 4 };

inline void imshow(const std::string&, const Mat&) {
    CV_Error(Error::StsNotImplemented, "--show: this build has no window; write images with --out DIR");
}
inline int waitKey(int) {
    return -1;
}
inline double getWindowProperty(const std::string&, int) {
    return 0;
}

}  // namespace cv

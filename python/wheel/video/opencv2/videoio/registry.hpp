// Instead of OpenCV's header of this name: see ../videoio.hpp.
#pragma once

#include <opencv2/videoio.hpp>

namespace cv::videoio_registry {

/// None of this library; those of the user's cv2 are its own affair.
inline std::vector<VideoCaptureAPIs> getBackends() {
    return {};
}
inline std::string getBackendName(VideoCaptureAPIs) {
    return {};
}
/// So that an address which FFmpeg did not open is not given to others too.
inline bool hasBackend(VideoCaptureAPIs) {
    return true;
}

}  // namespace cv::videoio_registry

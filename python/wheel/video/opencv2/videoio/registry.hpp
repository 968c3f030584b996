// A replacement for OpenCV's header of this name; see ../videoio.hpp.
#pragma once

#include <opencv2/videoio.hpp>

namespace cv::videoio_registry {

/// Returns nothing, because this library has no backends, and the user's cv2 chooses among its own.
inline std::vector<VideoCaptureAPIs> getBackends() {
    return {};
}
inline std::string getBackendName(VideoCaptureAPIs) {
    return {};
}
/// Always true, so that an address that FFmpeg cannot open is not passed to other backends.
inline bool hasBackend(VideoCaptureAPIs) {
    return true;
}

}  // namespace cv::videoio_registry

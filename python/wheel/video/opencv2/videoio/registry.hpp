// A replacement for OpenCV's header of this name; see ../videoio.hpp.
#pragma once

#include <opencv2/videoio.hpp>

namespace cv::videoio_registry {

/// Returns nothing, because this library has no backends. The user's cv2 chooses a backend itself.
inline std::vector<VideoCaptureAPIs> getBackends() {
    return {};
}
inline std::string getBackendName(VideoCaptureAPIs) {
    return {};
}
/// Always returns true, so that CaptureSource does not try GStreamer if FFmpeg cannot open an address.
inline bool hasBackend(VideoCaptureAPIs) {
    return true;
}

}  // namespace cv::videoio_registry

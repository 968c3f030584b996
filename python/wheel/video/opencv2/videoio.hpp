// A replacement for OpenCV's module videoio, which the wheel does not have. The replacement has
// the parts of cv::VideoCapture that pipeline/source and cli use, and reads videos with the user's cv2.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace cv {

enum VideoCaptureAPIs {
    CAP_ANY = 0,
    CAP_V4L2 = 200,
    CAP_GSTREAMER = 1800,
    CAP_FFMPEG = 1900,
    CAP_OPENCV_MJPEG = 2200
};
enum VideoCaptureProperties {
    CAP_PROP_POS_FRAMES = 1,
    CAP_PROP_FRAME_WIDTH = 3,
    CAP_PROP_FRAME_HEIGHT = 4,
    CAP_PROP_FPS = 5,
    CAP_PROP_FOURCC = 6,
    CAP_PROP_FRAME_COUNT = 7,
    CAP_PROP_BUFFERSIZE = 38,
    CAP_PROP_OPEN_TIMEOUT_MSEC = 53,
    CAP_PROP_READ_TIMEOUT_MSEC = 54
};

class VideoCapture {
public:
    bool open(int camera, int backend) { return open(std::to_string(camera), backend, {}); }
    bool open(const std::string& address, int backend, const std::vector<int>& parameters = {});
    bool isOpened() const { return m_held != nullptr; }
    double get(int property) const;
    bool set(int property, double value);
    bool read(Mat& image);
    void release() { m_held.reset(); }

private:
    struct Held;
    std::shared_ptr<Held> m_held;
};

}  // namespace cv

// Implements the class cv::VideoCapture that this folder's headers declare, with the functions that
// mpm_set_video() receives.

#include <opencv2/videoio.hpp>

#include "pipeline/source/source_error.hpp"
#include "python/src/border.hpp"
#include "python/src/mpm_video.h"

namespace {

struct Functions {
    mpm_video_open open = nullptr;
    mpm_video_get get = nullptr;
    mpm_video_set set = nullptr;
    mpm_video_read read = nullptr;
    mpm_video_release release = nullptr;
};

Functions& functions() {
    static Functions held;
    return held;
}

}  // namespace

struct cv::VideoCapture::Held {
    explicit Held(long long chosen) : video(chosen) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { functions().release(video); }
    long long video;
};

bool cv::VideoCapture::open(const std::string& address, int backend, const std::vector<int>& parameters) {
    release();
    if (functions().open == nullptr) return false;
    const long long video = functions().open(address.c_str(), backend, parameters.data(),
                                             static_cast<int>(parameters.size() / 2));
    if (video < 0)
        throw mpm::pipeline::SourceError(
            "videos, cameras and streams need cv2: pip install opencv-python-headless");
    if (video > 0) m_held = std::make_shared<Held>(video);
    return isOpened();
}

double cv::VideoCapture::get(int property) const {
    return m_held ? functions().get(m_held->video, property) : 0;
}

bool cv::VideoCapture::set(int property, double value) {
    return m_held && functions().set(m_held->video, property, value) != 0;
}

bool cv::VideoCapture::read(Mat& image) {
    mpm_array frame{};
    if (!m_held || functions().read(m_held->video, &frame) == 0) return false;
    image = mpm::python::matrixOf(frame, true).clone();
    return true;
}

void mpm_set_video(mpm_video_open open, mpm_video_get get, mpm_video_set set, mpm_video_read read,
                   mpm_video_release release) {
    functions() = {open, get, set, read, release};
}

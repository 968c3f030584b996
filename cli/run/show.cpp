#include "cli/run/run_session.hpp"

#include <clocale>
#include <cstdlib>

#include <opencv2/highgui.hpp>

#include "cli/common/error.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kWindow = "mpm run";

}  // namespace

void checkDisplay() {
#ifdef MPM_WITHOUT_WINDOW
    throw Error(kWrongUse, "--show: this build has no window; write images with --out DIR");
#else
    // Checks the display here, because highgui's toolkit ends the whole process if there is no display.
    const char* x11 = std::getenv("DISPLAY");
    const char* wayland = std::getenv("WAYLAND_DISPLAY");
    if ((x11 == nullptr || *x11 == '\0') && (wayland == nullptr || *wayland == '\0'))
        throw Error(kFailed, "--show: there is no display; set DISPLAY, or write images with --out DIR");
#endif
}

bool showImage(const cv::Mat& image) {
    cv::imshow(kWindow, image);
    // The first imshow() sets the user's locale. Resets LC_NUMERIC, because tables must keep decimal points.
    std::setlocale(LC_NUMERIC, "C");
    const int key = cv::waitKey(1) & 0xff;
    return key != 27 && key != 'q' && cv::getWindowProperty(kWindow, cv::WND_PROP_VISIBLE) >= 1;
}

}  // namespace mpm::cli

#include "cli/run/show.hpp"

#include <clocale>
#include <cstdlib>

#include <opencv2/highgui.hpp>

#include "cli/common/error.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kWindow = "mpm run";

}  // namespace

void checkDisplay() {
    // Asked for here because highgui's toolkit ends the whole process where there is none.
    const char* x11 = std::getenv("DISPLAY");
    const char* wayland = std::getenv("WAYLAND_DISPLAY");
    if ((x11 == nullptr || *x11 == '\0') && (wayland == nullptr || *wayland == '\0'))
        throw Error(kFailed, "--show: there is no display; set DISPLAY, or write pictures with --out DIR");
}

bool showPicture(const cv::Mat& picture) {
    cv::imshow(kWindow, picture);
    // The first picture starts a toolkit that takes the user's locale; the table is to keep its decimal
    // points.
    std::setlocale(LC_NUMERIC, "C");
    const int key = cv::waitKey(1) & 0xff;
    return key != 27 && key != 'q' && cv::getWindowProperty(kWindow, cv::WND_PROP_VISIBLE) >= 1;
}

}  // namespace mpm::cli

// Replacements for parts that the wheel leaves out, because Debian has only shared libraries for them: fonts
// (the wheel draws text in OpenCV's Hershey font) and the filter of system calls.
#include "base/sandbox.hpp"
#include "pipeline/draw/font.hpp"

namespace mpm::detail {

std::string enterCallFilter() {
    return "this build does not have it";
}

bool hasCallFilter() {
    return false;
}

}  // namespace mpm::detail

namespace mpm::pipeline {

struct Font::Face {};

Font::~Font() = default;

const Font* Font::sans(bool) {
    return nullptr;
}

double Font::width(const std::string&, double) const {
    return 0;
}

cv::Mat Font::coverage(const std::string&, double, int) const {
    return {};
}

}  // namespace mpm::pipeline

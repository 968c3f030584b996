// What OpenCV does not tell of a JPEG: that its end is missing.
#pragma once

#include <string>

namespace mpm::pipeline {

/// Whether `path` is a JPEG that was cut off in the middle of its picture; libjpeg paints what is missing
/// grey and says nothing. False for one that only lacks its end marker or has something behind it, and for
/// whatever is no JPEG.
bool isCutOffJpeg(const std::string& path);

}  // namespace mpm::pipeline

// Limits on the sizes of matrices and images. Code must check every size from a model or a caller before it
// uses the size in a computation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/checked.hpp"

namespace mpm {

/// The largest number of elements of a matrix. OpenCV counts elements in an int. The limit is a little lower
/// than the largest int, because kernels round the number of rows up and read a few more rows. If
/// checkShape() accepts a shape, every product of its sizes fits in an int.
constexpr std::int64_t kMostElements = std::numeric_limits<int>::max() - 65535;

/// The longest side of an image in pixels (as in JPEG), and the largest number of pixels of an image.
constexpr int kLongestSide = 65535;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 27;

/// Returns false if a size is negative, or if the product of all sizes other than 0 exceeds kMostElements.
template <class Sizes>
bool shapeFits(const Sizes& sizes) {
    std::int64_t elements = 1;
    for (const int size : sizes)
        if (size < 0 || !productFits(elements, elements, std::max(size, 1)) || elements > kMostElements)
            return false;
    return true;
}

template <class Sizes>
[[noreturn]] void rejectShape(const Sizes& sizes, const std::string& what) {
    std::string text;
    for (const int size : sizes)
        text += (text.empty() ? "" : ", ") + std::to_string(size);
    CV_Error(cv::Error::StsOutOfRange, what + " cannot be [" + text.substr(0, 200) +
                                           "]; sizes must not be negative and give at most " +
                                           std::to_string(kMostElements) + " elements");
}

/// Throws if a shape does not fit. `what` begins the message, for example "mpm: tokens".
template <class Sizes>
void checkShape(const Sizes& sizes, const std::string& what) {
    if (!shapeFits(sizes)) rejectShape(sizes, what);
}

}  // namespace mpm

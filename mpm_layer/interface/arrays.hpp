// The arrays of the C interface as matrices, without copies.
#pragma once

#include <vector>

#include <opencv2/core.hpp>

#include <mpm/mpm.h>

namespace mpm {

/// The sizes of `array`. Throws if they are not possible; `name` begins the message.
std::vector<int> sizesOf(const mpm_array* array, const char* name);

/// The numbers of `array`. Throws if they are null or of no known type.
cv::Mat matrixOf(const mpm_array* array, const char* name);

std::vector<cv::Mat> matricesOf(const mpm_array* arrays, int count, const char* name);

/// The reverse. Throws if the matrix has gaps or another type.
mpm_array arrayOf(const cv::Mat& matrix);

}  // namespace mpm

// Chooses rows by their scores, on OpenCV's threads.
#pragma once

#include <vector>

namespace mpm::decoder {

/// Finds the maximum of each row of `columns` scores. `columns` must be at least 1. Ignores NaN, but if all
/// scores of a row are NaN, the result is NaN.
void largestOfRows(const float* scores, int rows, int columns, float* largest);

/// Returns the indices of the `k` best scores, the best first. Equal scores are in the order of their
/// indices; NaN follows all numbers.
std::vector<int> bestScores(const float* scores, int count, int k);

/// Copies row indices[i] of `from` to row `i` of `to`. The indices must be in range.
void gatherRows(const float* from, int width, const int* indices, int count, float* to);

}  // namespace mpm::decoder

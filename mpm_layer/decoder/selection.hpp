// Selection by score: the best scores of a row, and the rows that belong to them.
#pragma once

#include <vector>

namespace mpm::decoder {

/// The maximum of each of `rows` rows of `columns`, at least one: NaN only if all of a row are NaN.
void largestOfRows(const float* scores, int rows, int columns, float* largest);

/// Indices of the `k` best scores, the best first. Equal scores are in the order of their indices, NaN
/// follows all numbers.
std::vector<int> bestScores(const float* scores, int count, int k);

/// Row `i` of `to` is row indices[i] of `from`; the indices are in range.
void gatherRows(const float* from, int width, const int* indices, int count, float* to);

}  // namespace mpm::decoder

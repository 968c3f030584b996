// The product of many rows with packed weights, and rows chosen by scores, on OpenCV's threads.
#pragma once

#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::decoder {

/// Computes output[r] = epilogue(rows[r] * weights), rows without padding between them. `some`: only these
/// rows; the other rows of the output stay as they are.
void multiplyRows(const float* rows, int count, const std::vector<int>* some,
                  const kernels::PackedWeights& weights, const kernels::Epilogue& epilogue, float* output);

/// Finds the maximum of each of `rows` rows of `columns` scores, at least one: NaN only if all scores of a
/// row are NaN.
void largestOfRows(const float* scores, int rows, int columns, float* largest);

/// Returns the indices of the `k` best scores, the best first. Equal scores are in the order of their
/// indices; NaN follows all numbers.
std::vector<int> bestScores(const float* scores, int count, int k);

/// Copies row indices[i] of `from` to row `i` of `to`; the indices are in range.
void gatherRows(const float* from, int width, const int* indices, int count, float* to);

}  // namespace mpm::decoder

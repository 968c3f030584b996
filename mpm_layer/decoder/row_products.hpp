// The product of many rows with packed weights, and rows chosen by scores, on OpenCV's threads.
#pragma once

#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::decoder {

/// output[r] = epilogue(rows[r] * weights), both without padding. `some`: only these rows; the others stay as
/// they are.
void multiplyRows(const float* rows, int count, const std::vector<int>* some,
                  const kernels::PackedWeights& weights, const kernels::Epilogue& epilogue, float* output);

/// The maximum of each of `rows` rows of `columns`, at least one: NaN only if all of a row are NaN.
void largestOfRows(const float* scores, int rows, int columns, float* largest);

/// Indices of the `k` best scores, the best first. Equal scores are in the order of their indices, NaN
/// follows all numbers.
std::vector<int> bestScores(const float* scores, int count, int k);

/// Row `i` of `to` is row indices[i] of `from`; the indices are in range.
void gatherRows(const float* from, int width, const int* indices, int count, float* to);

}  // namespace mpm::decoder

// From masks of queries to classes of pixels: the products' right operand, and the best of their results.
#pragma once

#include <cstddef>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::kernels {

/// Fills `to`, which has its shape already: row k is the sigmoid of low + weight * (high - low) of row k,
/// rows `stride` apart. The sigmoid of a NaN is 0.
void packSigmoid(const float* low, const float* high, size_t stride, float weight, PackedWeights& to);

/// For each column the row with the largest value, and that value. The lowest row wins ties, a NaN never
/// wins; if all are NaN, row 0 wins with minus infinity.
void argmaxRows(const float* rows, size_t stride, int count, int columns, int* labels, float* best);

}  // namespace mpm::kernels

// The product of many rows with packed weights, on OpenCV's threads.
#pragma once

#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::decoder {

/// output[r] = epilogue(rows[r] * weights), both without padding. `some`: only these rows; the others stay as
/// they are.
void multiplyRows(const float* rows, int count, const std::vector<int>* some,
                  const kernels::PackedWeights& weights, const kernels::Epilogue& epilogue, float* output);

}  // namespace mpm::decoder

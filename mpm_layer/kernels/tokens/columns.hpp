// Norms of pixels whose channels are planes: each column of a matrix is a pixel.
#pragma once

#include <cstddef>

#include "base/norm_rule.hpp"

namespace mpm::kernels {

/// Normalises `count` columns of in[channel * stride + column] over their `depth` channels; weight and bias
/// are per channel, the bias may be null. `out` is laid out like `in`.
void normaliseColumns(const float* in, size_t stride, int depth, int count, const float* weight,
                      const float* bias, const NormRule& rule, float* out);

}  // namespace mpm::kernels

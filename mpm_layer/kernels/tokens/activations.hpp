// Activations of elements that no product has left behind.
#pragma once

#include <cstddef>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::kernels {

/// out[k] = activation(in[k]); `in` and `out` may be the same. An element's bits do not depend on its
/// position.
void activate(Activation activation, const float* in, size_t count, float* out);

}  // namespace mpm::kernels

// The least that bilinear samples cost: four vector loads from a cache, multiplied and added.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpm::bench {

/// For each of `samples` places, `channels` floats at each of four corners: at[4 * sample + corner] elements
/// from `values`, times weights of the same order, added to `out` [channels]. `channels` is a multiple of 64.
void fourLoads(const float* values, const std::int32_t* at, const float* weights, size_t samples,
               int channels, float* out);

}  // namespace mpm::bench

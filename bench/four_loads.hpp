// The least work for bilinear samples: four vectors are loaded from a cache, weighted and summed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpm::bench {

/// For each channel, multiplies the four corners of all samples by their weights, and writes the sum of the
/// products to `out` [channels]. The channels of a corner begin at values[at[4 * sample + corner]]; `weights`
/// has the order of `at`. `channels` must be a multiple of 64.
void fourLoads(const float* values, const std::int32_t* at, const float* weights, size_t samples,
               int channels, float* out);

}  // namespace mpm::bench

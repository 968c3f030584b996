// Products in bf16 with sums in f32, if the processor multiplies pairs of bf16 (AVX-512 BF16; AMX for sizes
// that are multiples of 32). Rounding is to nearest even. The order of sums is fixed as in f32, so the same
// guarantees about equal bits hold.
#pragma once

#include <cstdint>
#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::kernels {

/// Two neighbours along the depth of a product, the first in the low half.
using Bf16Pair = std::uint32_t;

bool hasBf16();
/// Whether products of bf16 and of bytes use AMX tiles if the sizes fit.
bool multipliesInTiles();

inline int pairsOf(int width) {
    return (width + 1) / 2;
}

/// Rounds a row to pairs; a zero completes an odd last element.
void packPairs(const float* row, int width, Bf16Pair* pairs);
/// Rounds two rows to pairs, a pair for each column. If `second` is null, it counts as zeros.
void interleaveRows(const float* first, const float* second, int width, Bf16Pair* pairs);

class PackedWeightsBf16 : public Panels<Bf16Pair, 2> {
public:
    PackedWeightsBf16() = default;
    PackedWeightsBf16(const float* weights, size_t stride, int depth, int columns);
};

/// Like product(); `rowStride` counts pairs.
void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, float* output, size_t outputStride);
/// The same, but writes rows of pairs for the next product: GELU is computed to that precision only. Never
/// adds to the output.
void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, Bf16Pair* output, size_t outputStride);

}  // namespace mpm::kernels

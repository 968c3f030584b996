// Products in bf16 with f32 sums, where the processor multiplies bf16 pairs (AVX-512 BF16, and
// AMX where the sizes are multiples of 32). Rounding is to nearest even; the order of sums is fixed as in
// f32, so the same promises about equal bits hold.
#pragma once

#include <cstdint>
#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::kernels {

/// Two neighbours along the depth of a product, the first in the low half.
using Bf16Pair = std::uint32_t;

bool hasBf16();
/// Whether products of bf16, and of bytes, are made in AMX tiles where they fit.
bool multipliesInTiles();

inline int pairsOf(int width) {
    return (width + 1) / 2;
}

/// A row as pairs; an odd last element gets a zero.
void packPairs(const float* row, int width, Bf16Pair* pairs);
/// Two rows as pairs of their columns; `second` may be null: zeros.
void interleaveRows(const float* first, const float* second, int width, Bf16Pair* pairs);

class PackedWeightsBf16 : public Panels<Bf16Pair, 2> {
public:
    PackedWeightsBf16() = default;
    PackedWeightsBf16(const float* weights, size_t stride, int depth, int columns);
};

/// As `product`; `rowStride` counts pairs.
void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, float* output, size_t outputStride);
/// The same, rounded, as rows of pairs for the next product: GELU is computed to that precision only. Never
/// adds to the output.
void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, Bf16Pair* output, size_t outputStride);

}  // namespace mpm::kernels

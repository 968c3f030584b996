// Products and attention in bf16 with f32 sums, where the processor multiplies bf16 pairs (AVX-512 BF16, and
// AMX where the sizes are multiples of 32). Rounding is to nearest even; the order of sums is fixed as in
// f32, so the same promises about equal bits hold.
#pragma once

#include <cstdint>
#include <vector>

#include "mpm_layer/kernels/attention.hpp"
#include "mpm_layer/kernels/product.hpp"

namespace mpm::kernels {

/// Two neighbours along the depth of a product, the first in the low half.
using Bf16Pair = std::uint32_t;

bool hasBf16();

inline int pairsOf(int width) {
    return (width + 1) / 2;
}

/// A row as pairs; an odd last element gets a zero.
void packPairs(const float* row, int width, Bf16Pair* pairs);
/// Two rows as pairs of their columns; `second` may be null: zeros.
void interleaveRows(const float* first, const float* second, int width, Bf16Pair* pairs);

class PackedWeightsBf16 {
public:
    PackedWeightsBf16() = default;
    PackedWeightsBf16(const float* weights, size_t stride, int depth, int columns);

    int depth() const { return m_depth; }
    int columns() const { return m_columns; }
    bool empty() const { return m_columns == 0; }
    const Bf16Pair* panel(int index) const;

private:
    int m_depth = 0, m_columns = 0;
    Buffer m_data;
};

/// As `product`; `rowStride` counts pairs.
void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, float* output, size_t outputStride);
/// The same, rounded, as rows of pairs for the next product: GELU is computed to that precision only. Never
/// adds to the output.
void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, Bf16Pair* output, size_t outputStride);

/// The form in which attention takes the values of heads of that size: as rows of pairs,
/// [pairsOf(tokens)][columns], or, to multiply them in tiles, as columns of them, [columns][pairs].
bool takesValuesAsColumns(int headSize);

/// Tokens whose values are packed at once: at most so many pairs.
constexpr int kValuePairs = 32;
/// Packs `tokens` rows, at most 2 * kValuePairs, to either; as columns, kValuePairs of each are written,
/// zeros behind the last token.
void packValues(const float* rows, size_t stride, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride);

/// Keys are read so many at once, from a head's first on: so many behind its last must be readable.
constexpr int kKeysRead = 32;

/// One head whose keys and values are pairs already: keys along the head, values along the tokens.
struct AttentionHeadBf16 {
    AttentionHead f32;     ///< queries, sizes and bias; its keys and values are not read
    const Bf16Pair* keys;  ///< [tokens][keyStride], pairsOf(headSize) used
    size_t keyStride;
    const Bf16Pair* values;  ///< as packValues writes them
    size_t valueStride;
    bool valuesAreColumns = false;  ///< the result of takesValuesAsColumns
};

void attendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

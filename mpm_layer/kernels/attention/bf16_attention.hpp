// Attention in bf16 with sums in f32, and in int8. The order of sums is fixed, so the same guarantees about
// equal bits hold as in f32.
#pragma once

#include <cstdint>

#include "mpm_layer/kernels/attention/attention.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"

namespace mpm::kernels {

/// Whether values of heads of this size are columns of pairs, [columns][pairs], for tiles. Otherwise they are
/// rows of pairs, [pairsOf(tokens)][columns].
bool takesValuesAsColumns(int headSize);

/// The largest number of pairs of tokens whose values are packed at once.
constexpr int kValuePairs = 32;
/// Packs `tokens` rows, at most 2 * kValuePairs, as rows or columns of pairs. Each column gets kValuePairs
/// pairs; zeros follow the last token.
void packValues(const float* rows, size_t stride, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride);

/// The number of keys that are read at once: as many keys must be readable behind the last key of a head.
constexpr int kKeysRead = 32;

/// A head whose keys and values are already pairs: of channels in the keys, of tokens in the values.
struct AttentionHeadBf16 {
    AttentionHead f32;     ///< queries, sizes and bias; its keys and values are not read
    const Bf16Pair* keys;  ///< [tokens][keyStride], pairsOf(headSize) used
    size_t keyStride;
    const Bf16Pair* values;  ///< in the layout of packValues
    size_t valueStride;
    bool valuesAreColumns = false;  ///< the result of takesValuesAsColumns
};

void attendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride);

/// Whether values are quads, like keys; then weights of keys are bytes.
bool takesValueQuads();

/// The rounding step of the values of a token in a head. The step multiplies the token's weight: `bias`, the
/// step's logarithm, is added to the token's score, and `inverse` gives the weight back. Both are NaN if a
/// value is not finite.
struct ValueStep {
    float bias, inverse;
};
/// Rounds the values of a token in a head. Writes whole quads of bytes.
ValueStep roundValues(const float* values, int size, std::int8_t* bytes);
/// Interleaves the rounded values of four tokens as the quads of `count` columns.
void interleaveBytes(const std::int8_t* const (&tokens)[4], int count, I8Quad* quads);

/// A head whose keys are quads. Values are quads if `values` is not null, else f32.
struct AttentionHeadI8 {
    AttentionHead f32;   ///< queries, values, sizes and bias; its keys are not read
    const I8Quad* keys;  ///< [tokens][keyStride], quadsOf(headSize) used; kKeysRead are read at once
    size_t keyStride;
    const float* keyScales;          ///< of each token; kKeysRead are read at once
    const I8Quad* values = nullptr;  ///< [quadsOf(tokens)][valueStride], from interleaveBytes
    size_t valueStride = 0;
    const float* valueBiases = nullptr;    ///< of each token: ValueStep::bias
    const float* valueInverses = nullptr;  ///< of each token: ValueStep::inverse
};

void attendPanelI8(const AttentionHeadI8& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

// Attention in bf16 with sums in f32, and attention in int8. As in f32, the order of sums is fixed, so the
// bits of a query's output depend neither on other queries nor on the number of threads.
#pragma once

#include <cstdint>

#include "mpm_layer/kernels/attention/attention.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"

namespace mpm::kernels {

/// Returns whether AMX tiles compute the attention of heads of this size. If true, the caller must pack the
/// values as columns of pairs, [columns][pairs]; if false, as rows of pairs, [pairsOf(tokens)][columns].
bool takesValuesAsColumns(int headSize);

/// The largest number of pairs of tokens in a call to packValues().
constexpr int kValuePairs = 32;
/// Packs the values of at most 2 * kValuePairs tokens. A pair in `rows` has two channels of a token; a pair
/// in `packed` has one channel of two tokens. If the number of tokens is odd, a zero completes the last pair.
/// If `asColumns` is true, writes kValuePairs pairs to each column; pairs after the last token are zero.
void packValues(const ConstPairRows& rows, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride);

/// The largest number of keys that a kernel reads together. Memory for kKeysRead more keys must be readable
/// after a head's last key.
constexpr int kKeysRead = 32;

/// A head whose queries and keys are packed as pairs of channels and whose values are packed as pairs of
/// tokens.
struct AttentionHeadBf16 {
    AttentionHead f32;  ///< the rows and `scale` of this member are not read
    /// Attention reads the first pairsOf(headSize) pairs of each row. The caller must multiply the queries
    /// by kLog2E and the scale of the logits. Unless `valuesAreColumns`, no gaps may separate a key's pieces.
    ConstPairRows queries, keys;
    const Bf16Pair* values;  ///< from packValues()
    size_t valueStride;
    bool valuesAreColumns = false;  ///< the result of takesValuesAsColumns()
};

void attendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride);

/// Returns whether attention in int8 takes values as quads, like keys. If true, attention weights are bytes.
bool takesValueQuads();

/// The quantisation step of a token's values in a head. `bias` is the base-2 logarithm of the step.
/// Adding `bias` to the token's score multiplies the token's weight by the step. In the sum of all weights,
/// the factor `inverse` removes the step again. If a value is not finite, both members are NaN.
struct ValueStep {
    float bias, inverse;
};
/// Quantises the values of a token in a head. May write up to three more bytes, to complete the last quad.
ValueStep roundValues(const float* values, int size, std::int8_t* bytes);
/// Interleaves the bytes of four tokens: each of `count` columns gets a quad with a byte of each token.
void interleaveBytes(const std::int8_t* const (&tokens)[4], int count, I8Quad* quads);

/// A head whose keys are quads. If `values` is null, attention reads the values from `f32`. kKeysRead more
/// keys and scales must be readable after the last key.
struct AttentionHeadI8 {
    AttentionHead f32;   ///< `keys` of this member is not read
    const I8Quad* keys;  ///< [tokens][keyStride]; the first quadsOf(headSize) quads of each row are used
    size_t keyStride;
    const float* keyScales;          ///< the quantisation step of each token's key
    const I8Quad* values = nullptr;  ///< [quadsOf(tokens)][valueStride], from interleaveBytes()
    size_t valueStride = 0;
    const float* valueBiases = nullptr;    ///< ValueStep::bias of each token
    const float* valueInverses = nullptr;  ///< ValueStep::inverse of each token
};

void attendPanelI8(const AttentionHeadI8& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

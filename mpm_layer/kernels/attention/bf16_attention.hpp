// Attention in bf16 with f32 sums; the order of sums is fixed, so the same promises about equal bits hold as
// in f32.
#pragma once

#include <cstdint>

#include "mpm_layer/kernels/attention/attention.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"

namespace mpm::kernels {

/// The layout of values for heads of that size: rows of pairs, [pairsOf(tokens)][columns], or, for tiles,
/// columns of pairs, [columns][pairs].
bool takesValuesAsColumns(int headSize);

/// The largest number of pairs of tokens whose values are packed at once.
constexpr int kValuePairs = 32;
/// Packs `tokens` rows, at most 2 * kValuePairs, to either; as columns, kValuePairs of each are written,
/// zeros behind the last token.
void packValues(const float* rows, size_t stride, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride);

/// Keys that are read at once, from a head's first key on: as many must be readable behind the last.
constexpr int kKeysRead = 32;

/// A head whose keys and values are pairs already: keys along the head, values along the tokens.
struct AttentionHeadBf16 {
    AttentionHead f32;     ///< queries, sizes and bias; keys and values of it are not read
    const Bf16Pair* keys;  ///< [tokens][keyStride], pairsOf(headSize) used
    size_t keyStride;
    const Bf16Pair* values;  ///< as packValues writes them
    size_t valueStride;
    bool valuesAreColumns = false;  ///< the result of takesValuesAsColumns
};

void attendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride);

/// Whether values are quads, too: then weights of keys are bytes.
bool takesValueQuads();

/// Rounds a token's values of a head. Their step is a factor of the token's weight: `bias` is added to its
/// score, and `inverse` leads back to the weight. NaN for both if a value is not finite.
struct ValueStep {
    float bias, inverse;
};
/// Whole quads of bytes are written.
ValueStep roundValues(const float* values, int size, std::int8_t* bytes);
/// Rounded values of four tokens as the quads of `count` columns.
void interleaveBytes(const std::int8_t* const (&tokens)[4], int count, I8Quad* quads);

/// A head whose keys are quads. Values are quads if `values` is not null, else f32.
struct AttentionHeadI8 {
    AttentionHead f32;   ///< queries, values, sizes and bias; keys of it are not read
    const I8Quad* keys;  ///< [tokens][keyStride], quadsOf(headSize) used; kKeysRead are read at once
    size_t keyStride;
    const float* keyScales;          ///< of each token; kKeysRead are read at once
    const I8Quad* values = nullptr;  ///< [quadsOf(tokens)][valueStride] of interleaveBytes
    size_t valueStride = 0;
    const float* valueBiases = nullptr;    ///< of each token, as ValueStep
    const float* valueInverses = nullptr;  ///< likewise
};

void attendPanelI8(const AttentionHeadI8& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

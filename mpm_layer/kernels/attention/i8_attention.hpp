// Attention with int8 scores and 32-bit sums, which are exact, so the same promises about equal bits hold as
// in f32.
#pragma once

#include "mpm_layer/kernels/attention/attention.hpp"
#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"

namespace mpm::kernels {

/// A head whose keys are quads. Values are bf16 pairs if `values` is not null, else f32.
struct AttentionHeadI8 {
    AttentionHead f32;   ///< queries, values, sizes and bias; keys of it are not read
    const I8Quad* keys;  ///< [tokens][keyStride], quadsOf(headSize) used; kKeysRead are read at once
    size_t keyStride;
    const float* keyScales;            ///< of each token; kKeysRead are read at once
    const Bf16Pair* values = nullptr;  ///< as packValues writes them, as rows
    size_t valueStride = 0;
};

void attendPanelI8(const AttentionHeadI8& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

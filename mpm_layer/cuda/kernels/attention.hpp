// Attention over packed rows: each row attends to the rows of the same image only, for any number of rows.
#pragma once

#include <cuda_runtime.h>

#include "mpm_layer/cuda/kernels/rows.hpp"

namespace mpm::cuda {

constexpr int kLargestHeadSize = 128;

template <class T>
struct AttentionView {
    RowsOf<const T> qkv;  ///< [rows][3][heads][head size]
    RowsOf<T> output;     ///< [rows][heads][head size]
    const float* logits;  ///< added for each key; may be null
    int heads, headSize;  ///< at most kLargestHeadSize
    float scale;
};

/// Softmax in f32. bf16 and f16 multiply on tensor cores with sums in f32, float in plain f32.
template <class T>
void attend(const BatchView& batch, const AttentionView<T>& view, cudaStream_t stream);

}  // namespace mpm::cuda

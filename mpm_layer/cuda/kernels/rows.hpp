// The operations of an encoder between its matrix products, which work on rows. T is float, __nv_bfloat16 or
// __half.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "base/activation.hpp"
#include "base/norm_rule.hpp"

namespace mpm::cuda {

struct BatchView {
    const int* offsets;  ///< on the device: first row of each image; the last entry is the number of rows
    int images;
    int special;  ///< number of special tokens at the start of each image
    int dim;
    int rows;     ///< upper bound of the number of rows
    int longest;  ///< upper bound of the rows of an image
};

/// The size of the batch after a merge, which the CPU reads.
struct Extent {
    int rows, longest;
};

struct NormView {
    const float* weight;
    const float* bias;
    NormRule rule;
    bool present;  ///< false: rows are only converted to another type
};

template <class T>
struct RowsOf {
    T* data;
    size_t stride;
};

/// Normalises rows: `in` and `out` are [rows][width] and may be the same memory.
template <class In, class Out>
void layerNorm(const BatchView& batch, RowsOf<const In> in, int width, const NormView& norm, RowsOf<Out> out,
               cudaStream_t stream);

/// Computes hidden = act(hidden) or, if `gate` is not null, hidden *= act(gate). Both arrays are
/// [rows][width].
template <class T>
void activate(const BatchView& batch, RowsOf<T> hidden, const T* gate, int width, int32_t activation,
              cudaStream_t stream);

struct HeadsView {
    int heads, headSize;
    NormView queryNorm, keyNorm;
    const float* cosine;  ///< [tables][positions][head size], null without rotary positions
    const float* sine;
    int tables, positions;
    bool halves;
};

/// Normalises and rotates queries and keys in qkv [rows][3][heads][head size], in place. `position` of a row
/// is -1 for special tokens, which are not rotated.
template <class T>
void finishHeads(const BatchView& batch, RowsOf<T> qkv, const HeadsView& heads, const int* position,
                 cudaStream_t stream);

/// Computes the mean over heads of the keys: [rows][head size].
template <class T>
void meanKeys(const BatchView& batch, RowsOf<const T> qkv, int heads, int headSize, float* mean,
              cudaStream_t stream);

/// Computes logits[r] = bias[r] + log(sizes[r]); a null pointer adds 0.
void keyLogits(const BatchView& batch, const float* bias, const float* sizes, float* logits,
               cudaStream_t stream);

constexpr int kLargestHeadSize = 128;

template <class T>
struct AttentionView {
    RowsOf<const T> qkv;  ///< [rows][3][heads][head size]
    RowsOf<T> output;     ///< [rows][heads][head size]
    const float* logits;  ///< a value for each row, added to the logits of the row's key; may be null
    int heads, headSize;  ///< headSize: at most kLargestHeadSize
    float scale;
};

/// Computes attention, with softmax and sums in f32. If T is bf16 or f16, products run on tensor cores; if T
/// is float, products are plain f32.
template <class T>
void attend(const BatchView& batch, const AttentionView<T>& view, cudaStream_t stream);

}  // namespace mpm::cuda

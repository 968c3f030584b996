#include "mpm_layer/cuda/kernels/rows.hpp"

#include "mpm_layer/cuda/interface/entry.h"
#include "mpm_layer/cuda/kernels/launch.cuh"
#include "mpm_layer/cuda/kernels/layer_norm.cuh"
#include "mpm_layer/cuda/logic/arithmetic.hpp"

namespace mpm::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kLargestHead = 128;

__device__ int rowsOf(const int* offsets, int images) {
    return offsets[images];
}

dim3 warpARow(int rows) {
    return dim3((rows + kWarps - 1) / kWarps);
}

template <class In, class Out, int V>
__global__ void layerNormKernel(BatchView batch, RowsOf<const In> in, int width, NormView norm,
                                RowsOf<Out> out) {
    const int row = blockIdx.x * kWarps + threadIdx.y;
    if (row >= rowsOf(batch.offsets, batch.images)) return;
    const In* from = in.data + row * in.stride;
    const RowScale scale = scaleOf<In, V>(from, width, norm);
    writeNormed<In, Out, V>(from, width, norm, scale, out.data + row * out.stride);
}

__device__ float sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

__device__ float activated(float x, int32_t activation) {
    switch (static_cast<Activation>(activation)) {
        case Activation::Gelu:
            return 0.5f * x * (1.0f + erff(x * 0.70710678f));
        case Activation::GeluTanh:
            // 0.5 (1 + tanh(u)) = sigmoid(2 u)
            return x * sigmoid(1.59576912f * x * fmaf(0.044715f * x, x, 1.0f));
        case Activation::GeluQuick:
            return x * sigmoid(1.702f * x);
        case Activation::Silu:
            return x * sigmoid(x);
        case Activation::Relu:
            return fmaxf(x, 0.0f);
        default:
            return x;
    }
}

// Each thread computes 16 bytes at a time. The padding at a row's end is also computed, but never read.
template <class T>
__global__ void activateKernel(BatchView batch, RowsOf<T> hidden, const T* gate, int packs,
                               int32_t activation) {
    constexpr int V = 16 / sizeof(T);
    const int rows = rowsOf(batch.offsets, batch.images);
    const int column = blockIdx.y * blockDim.x + threadIdx.x;
    if (column >= packs) return;
    for (int row = blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += gridDim.x * blockDim.y) {
        const size_t at = row * hidden.stride + static_cast<size_t>(column) * V;
        auto pack = loadPack<T, V>(hidden.data + at);
        if (gate) {
            const auto gates = loadPack<T, V>(gate + at);
            for (int e = 0; e < V; ++e) {
                pack.v[e] = fromFloat<T>(toFloat(pack.v[e]) * activated(toFloat(gates.v[e]), activation));
            }
        } else {
            for (int e = 0; e < V; ++e)
                pack.v[e] = fromFloat<T>(activated(toFloat(pack.v[e]), activation));
        }
        storePack(hidden.data + at, pack);
    }
}

// Returns element `e` of a head, rotated with a partner element. If the size is odd, the last element has no
// partner.
__device__ float rotated(const float* head, const float* cosine, const float* sine, int e, int size,
                         bool halves) {
    const int half = size / 2;
    if (e >= 2 * half) return head[e];
    const bool first = halves ? e < half : e % 2 == 0;
    const int step = halves ? half : 1;
    const float turned = first ? -head[e + step] : head[e - step];
    return head[e] * cosine[e] + turned * sine[e];
}

// Uses a warp for each row and head; blockIdx.z is 0 for the query, 1 for the key.
template <class T>
__global__ void finishHeadsKernel(BatchView batch, RowsOf<T> qkv, HeadsView view, const int* position) {
    __shared__ float shared[kWarps][kLargestHead];
    const int row = blockIdx.x * kWarps + threadIdx.y;
    if (row >= rowsOf(batch.offsets, batch.images)) return;
    const int size = view.headSize, head = blockIdx.y, lane = threadIdx.x;
    T* data = qkv.data + row * qkv.stride + (static_cast<size_t>(blockIdx.z) * view.heads + head) * size;
    float* values = shared[threadIdx.y];
    const NormView& norm = blockIdx.z == 0 ? view.queryNorm : view.keyNorm;
    for (int e = lane; e < size; e += 32)
        values[e] = toFloat(data[e]);
    // Each lane reads only values that it wrote, so no synchronisation is needed here.
    if (norm.present)
        writeNormed<float, float, 1>(values, size, norm, scaleOf<float, 1>(values, size, norm), values);
    __syncwarp();
    const bool turns = view.cosine && position[row] >= 0;
    const int table = view.tables == 1 ? 0 : head;
    const size_t at = turns ? (static_cast<size_t>(table) * view.positions + position[row]) * size : 0;
    for (int e = lane; e < size; e += 32) {
        const float y =
            turns ? rotated(values, view.cosine + at, view.sine + at, e, size, view.halves) : values[e];
        data[e] = fromFloat<T>(y);
    }
}

template <class T>
__global__ void meanKeysKernel(BatchView batch, RowsOf<const T> qkv, int heads, int headSize, float* mean) {
    const int row = blockIdx.x * kWarps + threadIdx.y;
    if (row >= rowsOf(batch.offsets, batch.images)) return;
    const T* keys = qkv.data + row * qkv.stride + static_cast<size_t>(heads) * headSize;
    for (int e = threadIdx.x; e < headSize; e += 32) {
        float sum = 0;
        for (int h = 0; h < heads; ++h)
            sum += toFloat(keys[static_cast<size_t>(h) * headSize + e]);
        mean[static_cast<size_t>(row) * headSize + e] = sum / heads;
    }
}

__global__ void keyLogitsKernel(BatchView batch, const float* bias, const float* sizes, float* logits) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rowsOf(batch.offsets, batch.images)) return;
    logits[row] = (bias ? bias[row] : 0.0f) + (sizes ? logf(sizes[row]) : 0.0f);
}

}  // namespace

template <class In, class Out>
void layerNorm(const BatchView& batch, RowsOf<const In> in, int width, const NormView& norm, RowsOf<Out> out,
               cudaStream_t stream) {
    if (batch.rows == 0) return;
    const dim3 block(32, kWarps);
    if (width % 4 == 0 && in.stride % 4 == 0 && out.stride % 4 == 0) {
        launchKernel("layerNorm", layerNormKernel<In, Out, 4>, {warpARow(batch.rows), block}, stream, batch,
                     in, width, norm, out);
    } else {
        launchKernel("layerNorm", layerNormKernel<In, Out, 1>, {warpARow(batch.rows), block}, stream, batch,
                     in, width, norm, out);
    }
}

template <class T>
void activate(const BatchView& batch, RowsOf<T> hidden, const T* gate, int width, int32_t activation,
              cudaStream_t stream) {
    if (batch.rows == 0) return;
    constexpr int kRowsAtOnce = 65535 * 4;
    const int packs = paddedWidth(width) / static_cast<int>(16 / sizeof(T));
    const dim3 block(64, 4);
    const dim3 grid((batch.rows < kRowsAtOnce ? batch.rows + 3 : kRowsAtOnce) / 4, (packs + 63) / 64);
    launchKernel("activate", activateKernel<T>, {grid, block}, stream, batch, hidden, gate, packs,
                 activation);
}

template <class T>
void finishHeads(const BatchView& batch, RowsOf<T> qkv, const HeadsView& heads, const int* position,
                 cudaStream_t stream) {
    if (batch.rows == 0) return;
    const dim3 grid(warpARow(batch.rows).x, heads.heads, 2);
    launchKernel("finishHeads", finishHeadsKernel<T>, {grid, dim3(32, kWarps)}, stream, batch, qkv, heads,
                 position);
}

template <class T>
void meanKeys(const BatchView& batch, RowsOf<const T> qkv, int heads, int headSize, float* mean,
              cudaStream_t stream) {
    if (batch.rows == 0) return;
    launchKernel("meanKeys", meanKeysKernel<T>, {warpARow(batch.rows), dim3(32, kWarps)}, stream, batch, qkv,
                 heads, headSize, mean);
}

void keyLogits(const BatchView& batch, const float* bias, const float* sizes, float* logits,
               cudaStream_t stream) {
    if (batch.rows == 0) return;
    launchKernel("keyLogits", keyLogitsKernel, {(batch.rows + 255) / 256, 256}, stream, batch, bias, sizes,
                 logits);
}

#define MPM_INSTANTIATE(T)                                                                              \
    template void activate(const BatchView&, RowsOf<T>, const T*, int, int32_t, cudaStream_t);          \
    template void finishHeads(const BatchView&, RowsOf<T>, const HeadsView&, const int*, cudaStream_t); \
    template void meanKeys(const BatchView&, RowsOf<const T>, int, int, float*, cudaStream_t);          \
    template void layerNorm(const BatchView&, RowsOf<const float>, int, const NormView&, RowsOf<T>,     \
                            cudaStream_t);

MPM_INSTANTIATE(float)
MPM_INSTANTIATE(__nv_bfloat16)
MPM_INSTANTIATE(__half)
#undef MPM_INSTANTIATE

template void layerNorm(const BatchView&, RowsOf<const __nv_bfloat16>, int, const NormView&,
                        RowsOf<__nv_bfloat16>, cudaStream_t);
template void layerNorm(const BatchView&, RowsOf<const __half>, int, const NormView&, RowsOf<__half>,
                        cudaStream_t);

}  // namespace mpm::cuda

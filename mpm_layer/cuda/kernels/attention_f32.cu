// Attention in plain f32: a tile of keys at a time, with a running softmax.
#include "mpm_layer/cuda/kernels/element.cuh"
#include "mpm_layer/cuda/kernels/launch.cuh"
#include "mpm_layer/cuda/kernels/rows.hpp"

namespace mpm::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kQueries = 64;
constexpr int kKeys = 32;
constexpr int kLanes = 16;                             // threads with the same four queries: half a warp
constexpr int kRows = kQueries / (kThreads / kLanes);  // queries of a thread
constexpr int kColumns = kKeys / kLanes;               // keys of a thread
constexpr int kWeightPitch = kKeys + 4;
constexpr float kLog2E = 1.44269504f;

// Rows are four words longer than a head, so that eight threads use different banks if each reads 16 bytes.
template <int D>
struct Layout {
    static constexpr int kPitch = D + 4;
    float queries[kQueries][kPitch];
    float keys[kKeys][kPitch];
    float values[kKeys][kPitch];
    float weights[kQueries][kWeightPitch];
};

// Copies `count` rows of a head; values beyond these rows or beyond the head's size are zero.
template <int D>
__device__ void loadRows(const float* from, size_t stride, int rows, int count, int headSize,
                         float (*to)[Layout<D>::kPitch]) {
    for (int at = threadIdx.x; at < rows * D; at += kThreads) {
        const int r = at / D, d = at % D;
        to[r][d] = r < count && d < headSize ? from[r * stride + d] : 0.0f;
    }
}

__device__ float dot4(const float4& a, const float4& b, float sum) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

template <int D>
__device__ void multiplyKeys(const Layout<D>& shared, int row, int lane, float (&scores)[kRows][kColumns]) {
#pragma unroll 4
    for (int d = 0; d < D; d += 4) {
        float4 keys[kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
            keys[c] = *reinterpret_cast<const float4*>(&shared.keys[lane + c * kLanes][d]);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const float4 query = *reinterpret_cast<const float4*>(&shared.queries[row + r][d]);
#pragma unroll
            for (int c = 0; c < kColumns; ++c)
                scores[r][c] = dot4(query, keys[c], scores[r][c]);
        }
    }
}

template <int D>
__device__ void multiplyValues(const Layout<D>& shared, int row, int lane, float (&sums)[kRows][D / kLanes]) {
#pragma unroll 2
    for (int k = 0; k < kKeys; k += 4) {
        float4 weights[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r)
            weights[r] = *reinterpret_cast<const float4*>(&shared.weights[row + r][k]);
#pragma unroll
        for (int j = 0; j < D / kLanes; ++j) {
            const int d = lane + j * kLanes;
            const float4 values = make_float4(shared.values[k][d], shared.values[k + 1][d],
                                              shared.values[k + 2][d], shared.values[k + 3][d]);
#pragma unroll
            for (int r = 0; r < kRows; ++r)
                sums[r][j] = dot4(weights[r], values, sums[r][j]);
        }
    }
}

__device__ float sharedMax(float v) {
    for (int step = kLanes / 2; step > 0; step /= 2)
        v = fmaxf(v, __shfl_xor_sync(kWholeWarp, v, step));
    return v;
}

__device__ float sharedSum(float v) {
    for (int step = kLanes / 2; step > 0; step /= 2)
        v += __shfl_xor_sync(kWholeWarp, v, step);
    return v;
}

template <int D>
__global__ void __launch_bounds__(kThreads) attendKernel(BatchView batch, AttentionView<float> view) {
    Layout<D>& shared = blockMemory<Layout<D>>();
    const int first = batch.offsets[blockIdx.z], count = batch.offsets[blockIdx.z + 1] - first;
    const int query = blockIdx.x * kQueries;
    if (query >= count) return;
    const size_t stride = view.qkv.stride;
    const int inner = view.heads * view.headSize;
    const float* head = view.qkv.data + first * stride + blockIdx.y * view.headSize;
    loadRows<D>(head + query * stride, stride, kQueries, count - query, view.headSize, shared.queries);

    const int lane = threadIdx.x % kLanes, row = threadIdx.x / kLanes * kRows;
    float sums[kRows][D / kLanes] = {}, highest[kRows], total[kRows] = {};
    for (float& h : highest)
        h = -INFINITY;
    for (int key = 0; key < count; key += kKeys) {
        __syncthreads();
        loadRows<D>(head + inner + key * stride, stride, kKeys, count - key, view.headSize, shared.keys);
        loadRows<D>(head + 2 * inner + key * stride, stride, kKeys, count - key, view.headSize,
                    shared.values);
        __syncthreads();
        float scores[kRows][kColumns] = {};
        multiplyKeys<D>(shared, row, lane, scores);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            float peak = -INFINITY;
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                const int k = key + lane + c * kLanes;
                const float logit = view.logits && k < count ? view.logits[first + k] : 0.0f;
                scores[r][c] = k < count ? fmaf(scores[r][c], view.scale, logit) * kLog2E : -INFINITY;
                peak = fmaxf(peak, scores[r][c]);
            }
            const float before = highest[r];
            highest[r] = fmaxf(before, sharedMax(peak));
            // If a bias excludes all keys so far, the highest score is -inf, and -inf - (-inf) would be NaN.
            const float base = highest[r] == -INFINITY ? 0.0f : highest[r];
            const float fade = exp2f(before - base);
            float sum = 0;
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                const float weight = exp2f(scores[r][c] - base);
                sum += weight;
                shared.weights[row + r][lane + c * kLanes] = weight;
            }
            total[r] = fmaf(total[r], fade, sharedSum(sum));
#pragma unroll
            for (int j = 0; j < D / kLanes; ++j)
                sums[r][j] *= fade;
        }
        __syncwarp();  // a query's weights are written and read by the same half of a warp
        multiplyValues<D>(shared, row, lane, sums);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        if (query + row + r >= count) continue;
        float* to =
            view.output.data + (first + query + row + r) * view.output.stride + blockIdx.y * view.headSize;
#pragma unroll
        for (int j = 0; j < D / kLanes; ++j) {
            const int d = lane + j * kLanes;
            if (d < view.headSize) to[d] = sums[r][j] / total[r];
        }
    }
}

template <int D>
void launch(const BatchView& batch, const AttentionView<float>& view, cudaStream_t stream) {
    const dim3 grid((batch.longest + kQueries - 1) / kQueries, view.heads, batch.images);
    launchKernel("attend", attendKernel<D>, {grid, kThreads, sizeof(Layout<D>)}, stream, batch, view);
}

}  // namespace

template <>
void attend(const BatchView& batch, const AttentionView<float>& view, cudaStream_t stream) {
    if (batch.longest == 0) return;
    if (view.headSize <= 32) return launch<32>(batch, view, stream);
    if (view.headSize <= 64) return launch<64>(batch, view, stream);
    if (view.headSize <= 96) return launch<96>(batch, view, stream);
    launch<128>(batch, view, stream);
}

}  // namespace mpm::cuda

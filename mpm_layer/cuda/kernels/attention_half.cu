// Attention in bf16 and f16 on tensor cores: a warp holds 16 queries and their sums in registers, keys and
// values pass through shared memory two tiles at a time.
#include "mpm_layer/cuda/kernels/launch.cuh"
#include "mpm_layer/cuda/kernels/rows.hpp"
#include "mpm_layer/cuda/kernels/tensor_core.cuh"

namespace mpm::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kQueries = 16 * kWarps;
constexpr int kKeys = 64;
constexpr float kLog2E = 1.44269504f;

// Rows are 16 bytes longer than a head: the eight rows of a matrix are then in different banks.
template <class T, int D>
struct Layout {
    static constexpr int kPitch = D + 8;
    T queries[kQueries][kPitch];
    T keys[2][kKeys][kPitch];
    T values[2][kKeys][kPitch];
};

// `count` rows of a head; beyond them or the head's size the values are zero. `whole`: rows and heads start
// on 16 bytes.
template <class T, int D>
__device__ void loadRows(const T* from, size_t stride, int rows, int count, int headSize, bool whole,
                         T (*to)[Layout<T, D>::kPitch]) {
    for (int at = threadIdx.x; at < rows * (D / 8); at += kThreads) {
        const int r = at / (D / 8), d = at % (D / 8) * 8;
        if (whole) {
            const bool exists = r < count && d < headSize;
            copyAsync(&to[r][d], exists ? from + r * stride + d : from, exists);
            continue;
        }
        for (int e = d; e < d + 8; ++e)
            to[r][e] = r < count && e < headSize ? from[r * stride + e] : fromFloat<T>(0.0f);
    }
}

// The address of this thread for four matrices, numbered from top to bottom first (ldmatrix).
__device__ int matrixRow() {
    return (threadIdx.x % 16 / 8) * 8 + threadIdx.x % 8;
}
__device__ int matrixColumn() {
    return threadIdx.x % 32 / 16 * 8;
}

template <class T, int D>
struct Queries {
    std::uint32_t part[D / 16][4];

    __device__ void load(const Layout<T, D>& shared, int row) {
#pragma unroll
        for (int s = 0; s < D / 16; ++s)
            loadMatrices(part[s], &shared.queries[row + matrixRow()][s * 16 + matrixColumn()]);
    }
};

// Running softmax of the two queries, 8 apart, that a thread works on.
struct Softmax {
    float highest[2] = {-INFINITY, -INFINITY};
    float total[2] = {0, 0};
};

__device__ float quadMax(float v) {
    v = fmaxf(v, __shfl_xor_sync(kWholeWarp, v, 1));
    return fmaxf(v, __shfl_xor_sync(kWholeWarp, v, 2));
}

__device__ float quadSum(float v) {
    v += __shfl_xor_sync(kWholeWarp, v, 1);
    return v + __shfl_xor_sync(kWholeWarp, v, 2);
}

template <class T, int D>
__device__ void multiplyKeys(const Queries<T, D>& queries, const T (*keys)[Layout<T, D>::kPitch],
                             float (&scores)[kKeys / 8][4]) {
#pragma unroll
    for (int s = 0; s < D / 16; ++s) {
#pragma unroll
        for (int n = 0; n < kKeys / 8; n += 2) {
            // Matrices: keys 0-7 then 8-15, the first half of the step then the second.
            std::uint32_t b[4];
            loadMatrices(b, &keys[n * 8 + matrixRow()][s * 16 + matrixColumn()]);
            multiplyAdd<T>(scores[n], queries.part[s], b[0], b[2]);
            multiplyAdd<T>(scores[n + 1], queries.part[s], b[1], b[3]);
        }
    }
}

template <class T, int D>
__device__ void multiplyValues(const float (&weights)[kKeys / 8][4], const T (*values)[Layout<T, D>::kPitch],
                               float (&sums)[D / 8][4]) {
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
        const float(&low)[4] = weights[2 * k];
        const float(&high)[4] = weights[2 * k + 1];
        const std::uint32_t a[4] = {packed<T>(low[0], low[1]), packed<T>(low[2], low[3]),
                                    packed<T>(high[0], high[1]), packed<T>(high[2], high[3])};
#pragma unroll
        for (int n = 0; n < D / 8; n += 2) {
            std::uint32_t b[4];
            loadMatricesTurned(b, &values[k * 16 + matrixRow()][n * 8 + matrixColumn()]);
            multiplyAdd<T>(sums[n], a, b[0], b[1]);
            multiplyAdd<T>(sums[n + 1], a, b[2], b[3]);
        }
    }
}

// Scores become weights; the sums so far are scaled down if the highest score has risen.
template <int Sums>
__device__ void weigh(float (&scores)[kKeys / 8][4], const float* logits, int keys, float scale,
                      Softmax& softmax, float (&sums)[Sums][4]) {
    const int column = threadIdx.x % 4 * 2;
    float peak[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int key = n * 8 + column + e % 2;
            const float logit = logits && key < keys ? logits[key] : 0.0f;
            scores[n][e] = key < keys ? fmaf(scores[n][e], scale, logit) * kLog2E : -INFINITY;
            peak[e / 2] = fmaxf(peak[e / 2], scores[n][e]);
        }
    }
    float base[2], fade[2], sum[2] = {0, 0};
#pragma unroll
    for (int q = 0; q < 2; ++q) {
        const float before = softmax.highest[q];
        softmax.highest[q] = fmaxf(before, quadMax(peak[q]));
        // If a bias excludes all keys, the score is -inf, and -inf - (-inf) would be NaN.
        base[q] = softmax.highest[q] == -INFINITY ? 0.0f : softmax.highest[q];
        fade[q] = exp2f(before - base[q]);
    }
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            scores[n][e] = exp2f(scores[n][e] - base[e / 2]);
            sum[e / 2] += scores[n][e];
        }
    }
#pragma unroll
    for (int q = 0; q < 2; ++q)
        softmax.total[q] = fmaf(softmax.total[q], fade[q], quadSum(sum[q]));
#pragma unroll
    for (int n = 0; n < Sums; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            sums[n][e] *= fade[e / 2];
    }
}

template <class T, int D>
__device__ void storeSums(const AttentionView<T>& view, int row, int rows, const Softmax& softmax,
                          const float (&sums)[D / 8][4]) {
    const bool pairs = view.headSize % 2 == 0;
    const int own = threadIdx.x % 32 / 4;
#pragma unroll
    for (int q = 0; q < 2; ++q) {
        if (own + 8 * q >= rows) continue;
        const float inverse = 1.0f / softmax.total[q];
        T* to = view.output.data + (row + own + 8 * q) * view.output.stride + blockIdx.y * view.headSize;
#pragma unroll
        for (int n = 0; n < D / 8; ++n) {
            const int d = n * 8 + threadIdx.x % 4 * 2;
            const float first = sums[n][2 * q] * inverse, second = sums[n][2 * q + 1] * inverse;
            if (pairs) {
                if (d < view.headSize) *reinterpret_cast<std::uint32_t*>(to + d) = packed<T>(first, second);
            } else {
                if (d < view.headSize) to[d] = fromFloat<T>(first);
                if (d + 1 < view.headSize) to[d + 1] = fromFloat<T>(second);
            }
        }
    }
}

template <class T, int D>
__global__ void __launch_bounds__(kThreads) attendKernel(BatchView batch, AttentionView<T> view) {
    Layout<T, D>& shared = blockMemory<Layout<T, D>>();
    const int first = batch.offsets[blockIdx.z], count = batch.offsets[blockIdx.z + 1] - first;
    const int query = blockIdx.x * kQueries;
    if (query >= count) return;
    const size_t stride = view.qkv.stride;
    const int size = view.headSize, inner = view.heads * size;
    const bool whole = size % 8 == 0;
    const T* head = view.qkv.data + first * stride + blockIdx.y * size;
    const auto loadTile = [&](int tile) {
        const int key = tile * kKeys;
        const T* from = head + inner + key * stride;
        loadRows<T, D>(from, stride, kKeys, count - key, size, whole, shared.keys[tile % 2]);
        loadRows<T, D>(from + inner, stride, kKeys, count - key, size, whole, shared.values[tile % 2]);
    };
    loadRows<T, D>(head + query * stride, stride, kQueries, count - query, size, whole, shared.queries);
    loadTile(0);
    closeCopies();

    const int row = threadIdx.x / 32 * 16, tiles = (count + kKeys - 1) / kKeys;
    Queries<T, D> queries;
    Softmax softmax;
    float sums[D / 8][4] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            loadTile(tile + 1);
            closeCopies();
            awaitCopies<1>();
        } else {
            awaitCopies<0>();
        }
        __syncthreads();
        if (tile == 0) queries.load(shared, row);
        const int key = tile * kKeys;
        float scores[kKeys / 8][4] = {};
        multiplyKeys<T, D>(queries, shared.keys[tile % 2], scores);
        weigh(scores, view.logits ? view.logits + first + key : nullptr, count - key, view.scale, softmax,
              sums);
        multiplyValues<T, D>(scores, shared.values[tile % 2], sums);
        __syncthreads();  // the tile after the next replaces this tile
    }
    storeSums<T, D>(view, first + query + row, count - query - row, softmax, sums);
}

template <class T, int D>
void launch(const BatchView& batch, const AttentionView<T>& view, cudaStream_t stream) {
    const dim3 grid((batch.longest + kQueries - 1) / kQueries, view.heads, batch.images);
    launchKernel("attend", attendKernel<T, D>, {grid, kThreads, sizeof(Layout<T, D>)}, stream, batch, view);
}

template <class T>
void attendHalf(const BatchView& batch, const AttentionView<T>& view, cudaStream_t stream) {
    if (batch.longest == 0) return;
    if (view.headSize <= 32) return launch<T, 32>(batch, view, stream);
    if (view.headSize <= 64) return launch<T, 64>(batch, view, stream);
    if (view.headSize <= 96) return launch<T, 96>(batch, view, stream);
    launch<T, 128>(batch, view, stream);
}

}  // namespace

template <>
void attend(const BatchView& batch, const AttentionView<__nv_bfloat16>& view, cudaStream_t stream) {
    attendHalf(batch, view, stream);
}
template <>
void attend(const BatchView& batch, const AttentionView<__half>& view, cudaStream_t stream) {
    attendHalf(batch, view, stream);
}

}  // namespace mpm::cuda

// Attention in bf16 and f16 on tensor cores. A warp holds 16 or 32 queries and their sums in registers. While
// a tile of keys and values in shared memory is in use, the next tile is loaded.
#include "mpm_layer/cuda/kernels/launch.cuh"
#include "mpm_layer/cuda/kernels/rows.hpp"
#include "mpm_layer/cuda/kernels/tensor_core.cuh"

namespace mpm::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kKeys = 64;
/// If at most this many keys are left, the last tile has this length instead of kKeys. Few keys are common: a
/// multiple of 64 image tokens and a class token leave a single key.
constexpr int kFewKeys = 16;
constexpr float kLog2E = 1.44269504f;

/// Queries of a thread block; a warp has 16 * `Parts` queries. With two parts, an operand that is read from
/// shared memory serves two products.
template <int Parts>
constexpr int kQueries = 16 * kWarps* Parts;

// Rows are 16 bytes longer than a head, so that the eight rows of a matrix are in different banks.
template <class T, int D, int Parts>
struct Layout {
    static constexpr int kPitch = D + 8;
    T queries[kQueries<Parts>][kPitch];
    T keys[2][kKeys][kPitch];
    T values[2][kKeys][kPitch];
};

// A thread's share of the copies: 16 bytes in each of several rows of a head.
template <int D>
struct Share {
    static constexpr int kThreadsOfRow = D <= 32 ? 4 : D <= 64 ? 8 : 16;
    static constexpr int kStep = kThreads / kThreadsOfRow;
    int row = threadIdx.x / kThreadsOfRow, column = threadIdx.x % kThreadsOfRow * 8;
};

// Copies `count` rows of a head; values beyond these rows or beyond the head's size are zero. Rows and heads
// must be aligned to 16 bytes. `step`: elements between two rows that the same thread copies.
template <class T, int D, int Rows>
__device__ void copyRows(const T* from, std::ptrdiff_t step, int count, int headSize, const Share<D>& share,
                         T (*to)[D + 8]) {
    if (share.column >= D) return;
    T* target = &to[share.row][share.column];
    int left = share.column < headSize ? count - share.row : 0;
#pragma unroll
    for (int r = 0; r < Rows; r += Share<D>::kStep) {
        copyAsync(target, from, left > 0);
        target += Share<D>::kStep * (D + 8), from += step, left -= Share<D>::kStep;
    }
}

// Copies rows that need no alignment; the copies are complete when the function returns.
template <class T, int D, int Rows>
__device__ void loadRows(const T* from, std::ptrdiff_t stride, int count, int headSize, T (*to)[D + 8]) {
    for (int at = threadIdx.x; at < Rows * D; at += kThreads) {
        const int r = at / D, d = at % D;
        to[r][d] = r < count && d < headSize ? from[r * stride + d] : fromFloat<T>(0.0f);
    }
}

// Return the row and the column that this thread passes to ldmatrix, which loads 16 x 16 elements as four
// matrices. upper() and left() place the second matrix below the first, for the first operand of a product
// and for transposed values. keyRow() and keyColumn() place the second matrix to the right of the first, so
// that two registers have both halves of a key.
__device__ int upper() {
    return threadIdx.x % 16;
}
__device__ int left() {
    return threadIdx.x % 32 / 16 * 8;
}
__device__ int keyRow() {
    return threadIdx.x % 32 / 16 * 8 + threadIdx.x % 8;
}
__device__ int keyColumn() {
    return threadIdx.x % 16 / 8 * 8;
}

/// The part of 16 queries that a thread holds: operands and, for two of the queries, the running softmax and
/// the sums. The two queries are 8 rows apart.
template <class T, int D>
struct Queries {
    std::uint32_t operands[D / 16][4];
    float highest[2] = {-INFINITY, -INFINITY};
    float sums[D / 8][4] = {};
    float totals[4] = {};  // sums of weights, the same for all columns of the product

    __device__ void load(const T (*rows)[D + 8]) {
#pragma unroll
        for (int s = 0; s < D / 16; ++s)
            loadMatrices(operands[s], &rows[upper()][s * 16 + left()]);
    }
};

template <class T, int D, int Parts>
__device__ void loadQueries(Queries<T, D> (&queries)[Parts], const T (*rows)[D + 8]) {
#pragma unroll
    for (int p = 0; p < Parts; ++p)
        queries[p].load(rows + 16 * p);
}

template <class T>
__device__ const float* logitsOf(const AttentionView<T>& view, int row) {
    return view.logits ? view.logits + row : nullptr;
}

// Products of 16 queries with the keys of a tile. weigh() replaces the products with the weights of the keys.
template <int Keys>
using Scores = float[Keys / 8][4];

__device__ float quadMax(float v) {
    v = fmaxf(v, __shfl_xor_sync(kWholeWarp, v, 1));
    return fmaxf(v, __shfl_xor_sync(kWholeWarp, v, 2));
}

// Calls load(i, operand), then use(i, operand) for each product. Loads are two products ahead, because shared
// memory is slow.
template <int Products, class Load, class Use>
__device__ void multiplyAhead(const Load& load, const Use& use) {
    constexpr int kAhead = 2, kRing = kAhead + 1;
    std::uint32_t ring[kRing][4];
#pragma unroll
    for (int i = 0; i < kAhead && i < Products; ++i)
        load(i, ring[i]);
#pragma unroll
    for (int i = 0; i < Products; ++i) {
        if (i + kAhead < Products) load(i + kAhead, ring[(i + kAhead) % kRing]);
        use(i, ring[i % kRing]);
    }
}

using Operand = std::uint32_t[4];

template <int Keys, class T, int D, int Parts>
__device__ void multiplyKeys(const Queries<T, D> (&queries)[Parts], const T (*keys)[D + 8],
                             Scores<Keys> (&scores)[Parts]) {
    constexpr int kGroups = Keys / 16;
    const auto load = [&](int i, Operand& b) {
        loadMatrices(b, &keys[i % kGroups * 16 + keyRow()][i / kGroups * 16 + keyColumn()]);
    };
    multiplyAhead<D / 16 * kGroups>(load, [&](int i, const Operand& b) {
        const int n = i % kGroups * 2, s = i / kGroups;
#pragma unroll
        for (int p = 0; p < Parts; ++p) {
            multiplyAdd<T>(scores[p][n], queries[p].operands[s], b[0], b[1]);
            multiplyAdd<T>(scores[p][n + 1], queries[p].operands[s], b[2], b[3]);
        }
    });
}

template <int Keys, class T, int D, int Parts>
__device__ void multiplyValues(const Scores<Keys> (&weights)[Parts], const T (*values)[D + 8],
                               Queries<T, D> (&queries)[Parts]) {
    constexpr int kGroups = D / 16;
    const std::uint32_t ones = packed<T>(1.0f, 1.0f);
    Operand a[Parts];
    const auto load = [&](int i, Operand& b) {
        loadMatricesTurned(b, &values[i / kGroups * 16 + upper()][i % kGroups * 16 + left()]);
    };
    multiplyAhead<Keys / 16 * kGroups>(load, [&](int i, const Operand& b) {
        const int n = i % kGroups * 2, k = i / kGroups;
#pragma unroll
        for (int p = 0; p < Parts; ++p) {
            if (n == 0) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const float(&of)[4] = weights[p][2 * k + e / 2];
                    a[p][e] = packed<T>(of[e % 2 * 2], of[e % 2 * 2 + 1]);
                }
                multiplyAdd<T>(queries[p].totals, a[p], ones, ones);
            }
            multiplyAdd<T>(queries[p].sums[n], a[p], b[0], b[1]);
            multiplyAdd<T>(queries[p].sums[n + 1], a[p], b[2], b[3]);
        }
    });
}

// Turns products with keys into logits for exp2: scales them, adds biases, and sets -inf beyond the last key.
template <int Keys>
__device__ void placeLogits(Scores<Keys>& scores, const float* logits, int keys, float scale) {
#pragma unroll
    for (int n = 0; n < Keys / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int key = n * 8 + threadIdx.x % 4 * 2 + e % 2;
            const float logit = logits && key < keys ? logits[key] * kLog2E : 0.0f;
            scores[n][e] = key < keys ? fmaf(scores[n][e], scale, logit) : -INFINITY;
        }
    }
}

// Multiplies scores by `scale`, and turns them into weights. If a query's highest score has risen, scales
// down the query's sums so far.
template <int Keys, class T, int D>
__device__ void weigh(Scores<Keys>& scores, float scale, Queries<T, D>& queries) {
    float peak[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int n = 0; n < Keys / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            peak[e / 2] = fmaxf(peak[e / 2], scores[n][e]);
    }
    float base[2], fade[2];
#pragma unroll
    for (int q = 0; q < 2; ++q) {
        const float before = queries.highest[q];
        queries.highest[q] = fmaxf(before, quadMax(peak[q]) * scale);
        // If a bias excludes all keys so far, the highest score is -inf, and -inf - (-inf) would be NaN.
        base[q] = queries.highest[q] == -INFINITY ? 0.0f : queries.highest[q];
        fade[q] = powerOfTwo(before - base[q]);
    }
#pragma unroll
    for (int n = 0; n < Keys / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            scores[n][e] = powerOfTwo(fmaf(scores[n][e], scale, -base[e / 2]));
    }
    if (!__any_sync(kWholeWarp, fade[0] != 1.0f || fade[1] != 1.0f)) return;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            queries.sums[n][e] *= fade[e / 2];
    }
#pragma unroll
    for (int e = 0; e < 4; ++e)
        queries.totals[e] *= fade[e / 2];
}

// Adds a tile of an image's keys to the attention. If `Plain` is true, all `Keys` keys exist, `logits` is
// null, and the scale is positive. So the highest product gives the highest score.
template <int Keys, bool Plain, class T, int D, int Parts>
__device__ void attendTile(const T (*keysOf)[D + 8], const T (*values)[D + 8], const float* logits, int keys,
                           float scale, Queries<T, D> (&queries)[Parts]) {
    Scores<Keys> scores[Parts] = {};
    multiplyKeys<Keys>(queries, keysOf, scores);
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
        if constexpr (!Plain) placeLogits<Keys>(scores[p], logits, keys, scale);
        weigh<Keys>(scores[p], Plain ? scale : 1.0f, queries[p]);
    }
    multiplyValues<Keys>(scores, values, queries);
}

template <class T, int D>
__device__ void storeSums(const AttentionView<T>& view, int row, int rows, const Queries<T, D>& queries) {
    const bool pairs = view.headSize % 2 == 0;
    const int own = threadIdx.x % 32 / 4;
#pragma unroll
    for (int q = 0; q < 2; ++q) {
        if (own + 8 * q >= rows) continue;
        const float inverse = 1.0f / queries.totals[2 * q];
        T* to = view.output.data + (row + own + 8 * q) * view.output.stride + blockIdx.y * view.headSize;
#pragma unroll
        for (int n = 0; n < D / 8; ++n) {
            const int d = n * 8 + threadIdx.x % 4 * 2;
            const float first = queries.sums[n][2 * q] * inverse;
            const float second = queries.sums[n][2 * q + 1] * inverse;
            if (pairs) {
                if (d < view.headSize) *reinterpret_cast<std::uint32_t*>(to + d) = packed<T>(first, second);
            } else {
                if (d < view.headSize) to[d] = fromFloat<T>(first);
                if (d + 1 < view.headSize) to[d + 1] = fromFloat<T>(second);
            }
        }
    }
}

template <class T, int D, int Parts, bool Plain>
__global__ void __launch_bounds__(kThreads) attendKernel(BatchView batch, AttentionView<T> view) {
    Layout<T, D, Parts>& shared = blockMemory<Layout<T, D, Parts>>();
    const int first = batch.offsets[blockIdx.z], count = batch.offsets[blockIdx.z + 1] - first;
    const int query = blockIdx.x * kQueries<Parts>;
    if (query >= count) return;
    const int size = view.headSize, inner = view.heads * size;
    const bool whole = size % 8 == 0;
    const std::ptrdiff_t stride = view.qkv.stride, step = Share<D>::kStep * stride;
    const Share<D> share;
    const T* const head = view.qkv.data + first * stride + blockIdx.y * size;
    const T* const own = head + share.row * stride + share.column;
    const auto loadTile = [&](int tile) {
        const int key = tile * kKeys, keys = count - key;
        const std::ptrdiff_t at = inner + key * stride;
        if (whole) {
            copyRows<T, D, kKeys>(own + at, step, keys, size, share, shared.keys[tile % 2]);
            copyRows<T, D, kKeys>(own + at + inner, step, keys, size, share, shared.values[tile % 2]);
        } else {
            loadRows<T, D, kKeys>(head + at, stride, keys, size, shared.keys[tile % 2]);
            loadRows<T, D, kKeys>(head + at + inner, stride, keys, size, shared.values[tile % 2]);
        }
    };
    if (whole) {
        copyRows<T, D, kQueries<Parts>>(own + query * stride, step, count - query, size, share,
                                        shared.queries);
    } else {
        loadRows<T, D, kQueries<Parts>>(head + query * stride, stride, count - query, size, shared.queries);
    }
    loadTile(0);
    closeCopies();

    const int row = threadIdx.x / 32 * 16 * Parts, tiles = (count + kKeys - 1) / kKeys;
    const bool works = query + row < count;  // other warps only load tiles
    const float scale = view.scale * kLog2E;
    Queries<T, D> queries[Parts];
    // Every tile except the last has kKeys keys.
    for (int tile = 0; tile + 1 < tiles; ++tile) {
        loadTile(tile + 1);
        closeCopies();
        awaitCopies<1>();
        __syncthreads();
        if (works) {
            if (tile == 0) loadQueries(queries, shared.queries + row);
            const float* logits = Plain ? nullptr : logitsOf(view, first + tile * kKeys);
            attendTile<kKeys, Plain>(shared.keys[tile % 2], shared.values[tile % 2], logits, kKeys, scale,
                                     queries);
        }
        __syncthreads();  // the next loadTile() overwrites this tile
    }
    awaitCopies<0>();
    __syncthreads();
    if (!works) return;
    const int last = tiles - 1, keys = count - last * kKeys;
    if (last == 0) loadQueries(queries, shared.queries + row);
    const float* logits = logitsOf(view, first + last * kKeys);
    if (keys > kFewKeys) {
        attendTile<kKeys, false>(shared.keys[last % 2], shared.values[last % 2], logits, keys, scale,
                                 queries);
    } else {
        attendTile<kFewKeys, false>(shared.keys[last % 2], shared.values[last % 2], logits, keys, scale,
                                    queries);
    }
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
        const int at = query + row + 16 * p;
        storeSums<T, D>(view, first + at, count - at, queries[p]);
    }
}

template <class T, int D, int Parts>
void launch(const BatchView& batch, const AttentionView<T>& view, cudaStream_t stream) {
    const dim3 grid((batch.longest + kQueries<Parts> - 1) / kQueries<Parts>, view.heads, batch.images);
    const LaunchShape shape{grid, kThreads, sizeof(Layout<T, D, Parts>)};
    const bool plain = !view.logits && view.scale > 0;
    launchKernel("attend", plain ? attendKernel<T, D, Parts, true> : attendKernel<T, D, Parts, false>, shape,
                 stream, batch, view);
}

// For small batches, gives each thread block fewer queries, so that all multiprocessors have work. The bits
// of a row do not depend on this choice.
template <class T, int D>
void launchFor(const BatchView& batch, const AttentionView<T>& view, cudaStream_t stream) {
    constexpr int kEnoughBlocks = 256;
    const std::int64_t tiles = (batch.longest + kQueries<2> - 1) / kQueries<2>;
    const std::int64_t blocks = tiles * view.heads * batch.images;
    blocks < kEnoughBlocks ? launch<T, D, 1>(batch, view, stream) : launch<T, D, 2>(batch, view, stream);
}

template <class T>
void attendHalf(const BatchView& batch, const AttentionView<T>& view, cudaStream_t stream) {
    if (batch.longest == 0) return;
    if (view.headSize <= 32) return launchFor<T, 32>(batch, view, stream);
    if (view.headSize <= 64) return launchFor<T, 64>(batch, view, stream);
    // For larger heads, there are not enough registers for 32 queries.
    if (view.headSize <= 96) return launch<T, 96, 1>(batch, view, stream);
    launch<T, 128, 1>(batch, view, stream);
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

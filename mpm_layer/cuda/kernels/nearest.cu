// The search for the most similar other token of every token. The matrix of similarities is symmetric, so
// only the tiles of a triangle are computed. The matrix is never written to memory.
#include "mpm_layer/cuda/kernels/launch.cuh"
#include "mpm_layer/cuda/kernels/nearest.cuh"
#include "mpm_layer/cuda/logic/arithmetic.hpp"

namespace mpm::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kTile = 128;
constexpr int kThreads = 256;
constexpr int kSide = 8;           // each thread's share of a tile is kSide x kSide
constexpr int kPitch = kTile + 4;  // not a power of two, so that columns start in different banks
constexpr int kPacks =
    kTile * kUnitStep / 4 / kThreads;  // number of float4 of an operand that a thread loads in a step

// Stores element `i` of a unit row, as f32 or as bf16 terms.
__device__ void storeUnit(const UnitRows& unit, size_t row, int i, float value) {
    if (unit.data) {
        unit.data[row * unit.stride + i] = value;
        return;
    }
    const SplitValue terms = split(value);
    __nv_bfloat16* to = unit.split + row * unit.splitStride();
    to[splitPlace(i, 0)] = fromFloat<__nv_bfloat16>(terms.high);
    to[splitPlace(i, 1)] = fromFloat<__nv_bfloat16>(terms.middle);
    to[splitPlace(i, 2)] = fromFloat<__nv_bfloat16>(terms.low);
}

__global__ void normaliseKernel(BatchView batch, const float* rows, UnitRows unit) {
    const ImageRows image = imageRows(batch, blockIdx.y);
    const int token = blockIdx.x * kWarps + threadIdx.y;
    if (token >= image.count) return;
    const int row = image.first + token;
    const float* from = rows + static_cast<size_t>(row) * batch.dim;
    float largest = 0, poison = 0;
    for (int i = threadIdx.x; i < batch.dim; i += 32) {
        largest = fmaxf(largest, fabsf(from[i]));
        // x - x is 0 if x is finite, else NaN. A sum with NaN is NaN.
        poison += from[i] - from[i];
    }
    largest = warpMax(largest);
    const bool finite = warpSum(poison) == 0.0f;
    if (threadIdx.x == 0) {
        unit.finite[row] = finite;
        unit.best[row] = kNoCandidate;
    }
    Scaling scaling{0.0f, 0.0f};
    float inverse = 0;
    const bool usable = finite && largest > 0;
    if (usable) {
        scaling = scalingFor(largest);
        float squares = 0;
        for (int i = threadIdx.x; i < batch.dim; i += 32) {
            const float v = scaling.apply(from[i]);
            squares = fmaf(v, v, squares);
        }
        inverse = 1.0f / sqrtf(warpSum(squares));
    }
    for (int i = threadIdx.x; i < unit.stride; i += 32)
        storeUnit(unit, row, i, usable && i < batch.dim ? scaling.apply(from[i]) * inverse : 0.0f);
}

struct Step {
    float4 pack[kPacks];
};

// Loads this thread's part of kUnitStep columns, from column `k`, of an operand whose first row is `row`.
// Rows beyond the image become zeros.
__device__ void loadStep(const UnitRows& unit, const ImageRows& image, int row, int k, Step& step) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
        const int at = threadIdx.x + p * kThreads;
        const int r = row + at / (kUnitStep / 4), column = k + at % (kUnitStep / 4) * 4;
        step.pack[p] = make_float4(0, 0, 0, 0);
        if (r < image.count) {
            step.pack[p] = *reinterpret_cast<const float4*>(
                unit.data + static_cast<size_t>(image.first + r) * unit.stride + column);
        }
    }
}

// Stores a step transposed, so that a thread's rows are neighbours.
__device__ void storeStep(const Step& step, float (*operand)[kPitch]) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
        const int at = threadIdx.x + p * kThreads;
        const int r = at / (kUnitStep / 4), k = at % (kUnitStep / 4) * 4;
        operand[k][r] = step.pack[p].x;
        operand[k + 1][r] = step.pack[p].y;
        operand[k + 2][r] = step.pack[p].z;
        operand[k + 3][r] = step.pack[p].w;
    }
}

// Converts the index `i` (0..kSide-1) of a row among a thread's rows to the index of the row in the tile.
// `group`: the thread's index along this side of the tile. A thread has four neighbouring rows in each half
// of the tile. Columns are numbered in the same way.
__device__ int within(int group, int i) {
    return (i / 4) * (kTile / 2) + group * 4 + i % 4;
}

__device__ void loadSide(const float* operand, int group, float (&side)[kSide]) {
    const float4 low = *reinterpret_cast<const float4*>(operand + group * 4);
    const float4 high = *reinterpret_cast<const float4*>(operand + kTile / 2 + group * 4);
    side[0] = low.x, side[1] = low.y, side[2] = low.z, side[3] = low.w;
    side[4] = high.x, side[5] = high.y, side[6] = high.z, side[7] = high.w;
}

struct Operands {
    float rows[kUnitStep][kPitch];
    float columns[kUnitStep][kPitch];
};

// Adds the products of each sum in the order of k, so swapping two tokens does not change the bits of their
// similarity.
__device__ void multiply(const UnitRows& unit, const ImageRows& image, const Tile& tile, Operands& operands,
                         float (&sums)[kSide][kSide]) {
    const int rowGroup = threadIdx.x / 16, columnGroup = threadIdx.x % 16;
    Step rows, columns;
    loadStep(unit, image, tile.row * kTile, 0, rows);
    loadStep(unit, image, tile.column * kTile, 0, columns);
    for (int k = 0; k < unit.stride; k += kUnitStep) {
        __syncthreads();
        storeStep(rows, operands.rows);
        storeStep(columns, operands.columns);
        __syncthreads();
        if (k + kUnitStep < unit.stride) {
            loadStep(unit, image, tile.row * kTile, k + kUnitStep, rows);
            loadStep(unit, image, tile.column * kTile, k + kUnitStep, columns);
        }
#pragma unroll
        for (int s = 0; s < kUnitStep; ++s) {
            float a[kSide], b[kSide];
            loadSide(operands.rows[s], rowGroup, a);
            loadSide(operands.columns[s], columnGroup, b);
#pragma unroll
            for (int i = 0; i < kSide; ++i) {
#pragma unroll
                for (int j = 0; j < kSide; ++j)
                    sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
            }
        }
    }
}

// Two thread blocks run on each multiprocessor, so that multiplication and comparison overlap.
__global__ void __launch_bounds__(kThreads, 2) nearestKernel(BatchView batch, UnitRows unit) {
    __shared__ union alignas(16) {
        Operands operands;
        Candidate columns[kThreads / 32][kTile];
    } shared;
    const ImageRows image = imageRows(batch, blockIdx.y);
    const Tile tile = tileOf(blockIdx.x);
    if (tile.column * kTile >= image.count) return;
    float sums[kSide][kSide] = {};
    multiply(unit, image, tile, shared.operands, sums);

    const int rowGroup = threadIdx.x / 16, columnGroup = threadIdx.x % 16;
    int rowToken[kSide], columnToken[kSide];
    bool rowCounts[kSide], columnCounts[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
        rowToken[i] = tile.row * kTile + within(rowGroup, i);
        columnToken[i] = tile.column * kTile + within(columnGroup, i);
        rowCounts[i] = counts(unit, image, rowToken[i]);
        columnCounts[i] = counts(unit, image, columnToken[i]);
    }
    Candidate ofColumn[kSide] = {};
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
        Candidate ofRow = kNoCandidate;
#pragma unroll
        for (int j = 0; j < kSide; ++j) {
            if (!rowCounts[i] || !columnCounts[j] || columnToken[j] <= rowToken[i]) continue;
            ofRow = larger(ofRow, candidate(sums[i][j], columnToken[j]));
            ofColumn[j] = larger(ofColumn[j], candidate(sums[i][j], rowToken[i]));
        }
        // The 16 threads of a row group are half of a warp.
        for (int step = 8; step > 0; step /= 2)
            ofRow = larger(ofRow, __shfl_xor_sync(kWholeWarp, ofRow, step));
        if (columnGroup == 0) offer(unit, image, rowToken[i], ofRow);
    }
    __syncthreads();  // all threads have read the operands, which candidates of columns now overwrite
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
        const Candidate both = larger(ofColumn[j], __shfl_xor_sync(kWholeWarp, ofColumn[j], 16));
        if (threadIdx.x % 32 < 16) shared.columns[threadIdx.x / 32][within(columnGroup, j)] = both;
    }
    __syncthreads();
    if (threadIdx.x < kTile) {
        Candidate best = kNoCandidate;
        for (int warp = 0; warp < kThreads / 32; ++warp)
            best = larger(best, shared.columns[warp][threadIdx.x]);
        offer(unit, image, tile.column * kTile + static_cast<int>(threadIdx.x), best);
    }
}

}  // namespace

void normaliseRows(const BatchView& batch, const float* rows, const UnitRows& unit, cudaStream_t stream) {
    const int tokens = batch.longest - batch.special;
    if (tokens < 1) return;
    const dim3 grid((tokens + kWarps - 1) / kWarps, batch.images);
    launchKernel("normaliseRows", normaliseKernel, {grid, dim3(32, kWarps)}, stream, batch, rows, unit);
}

void findNearest(const BatchView& batch, const UnitRows& unit, cudaStream_t stream) {
    const int tokens = batch.longest - batch.special;
    if (tokens < 2) return;
    const dim3 grid(triangleTiles(tilesAlong(tokens, kTile)), batch.images);
    launchKernel("findNearest", nearestKernel, {grid, kThreads}, stream, batch, unit);
}

}  // namespace mpm::cuda

// The search for nearest tokens on tensor cores, with the accuracy of f32. Each value of a unit row is split
// into three bf16 terms. The product of two values is the sum of six of the nine products of their terms.
// Tiles and candidates are as in nearest.cu.
//
// Bounds of the error of a similarity, for rows of D elements:
// - The three terms together have every bit of a value. For values a and b, the sum of the three omitted
//   products is below 2^-26 |a||b|. Over a row, |a||b| sums to at most 1, so the error is below 1.5e-8.
// - Tensor cores may truncate sums that f32 would round. So tensor cores add up only a single step of 16
//   elements. The error is at most 2^-19 of the sum of |a||b| over the step, so 2e-6 over a row.
// - The sums of steps are added in f32, with D / 16 roundings of 2^-24: at most 3e-6 if D is 768.
// In total, the error is at most 5e-6, usually about 1e-7. In nearest.cu, the error is at most 4.6e-5 (D
// roundings). If a token's two highest similarities differ by more than 1e-5, this kernel finds the nearest
// token exactly.
//
// The bits of a similarity do not depend on the order of the two tokens. If a and b are swapped, `ofRow` and
// `ofColumn` (multiplyStep()) are swapped too, and their sum is the same.
#include "mpm_layer/cuda/kernels/launch.cuh"
#include "mpm_layer/cuda/kernels/nearest.cuh"
#include "mpm_layer/cuda/kernels/tensor_core.cuh"
#include "mpm_layer/cuda/logic/arithmetic.hpp"

namespace mpm::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 128;
constexpr int kWarpsAcross = 4, kWarpsDown = 2;
constexpr int kRows = kTile / kWarpsDown / 16;      // 16-row products of a warp
constexpr int kColumns = kTile / kWarpsAcross / 8;  // 8-column products of a warp
constexpr int kStepWidth = kSplitTerms * kSplitStep;
// 112 bytes for each row, so that the eight rows of a matrix are in different banks.
constexpr int kPitch = kStepWidth + 8;

using Term = __nv_bfloat16;

struct Operands {
    Term rows[kTile][kPitch];
    Term columns[kTile][kPitch];
};

union Shared {
    Operands steps[2];
    struct {
        Candidate rows[kWarpsAcross][kTile];
        Candidate columns[kWarpsDown][kTile];
    } best;
};

__device__ void loadSide(const UnitRows& unit, const ImageRows& image, int firstToken, int step,
                         Term (*to)[kPitch]) {
    constexpr int kPacks = kStepWidth / 8;
    for (int at = threadIdx.x; at < kTile * kPacks; at += kThreads) {
        const int r = at / kPacks, column = at % kPacks * 8, token = firstToken + r;
        const bool exists = token < image.count;
        const size_t row = image.first + (exists ? token : 0);
        copyAsync(&to[r][column], unit.split + row * unit.splitStride() + step * kStepWidth + column, exists);
    }
}

__device__ void loadStep(const UnitRows& unit, const ImageRows& image, const Tile& tile, int step,
                         Operands& to) {
    loadSide(unit, image, tile.row * kTile, step, to.rows);
    loadSide(unit, image, tile.column * kTile, step, to.columns);
    closeCopies();
}

// Return the row and column that this lane passes to ldmatrix, which loads 16 x 16 elements as four matrices.
// For row operands, the second matrix is below the first. For column operands, the second matrix is to the
// right of the first, so that two registers have both halves of a column's elements.
__device__ int rowOfLane() {
    return threadIdx.x % 16;
}
__device__ int halfOfRow() {
    return threadIdx.x % 32 / 16 * 8;
}
__device__ int columnOfLane() {
    return threadIdx.x % 32 / 16 * 8 + threadIdx.x % 8;
}
__device__ int halfOfColumn() {
    return threadIdx.x % 16 / 8 * 8;
}

struct Place {
    int row, column;  // first row and column of a warp's share of the tile
};

__device__ Place placeOfWarp() {
    const int warp = threadIdx.x / 32;
    return {warp / kWarpsAcross * (kTile / kWarpsDown), warp % kWarpsAcross * (kTile / kWarpsAcross)};
}

using Sums = float[kRows][kColumns][4];

__device__ void multiplyStep(const Operands& step, const Place& place, Sums& sums) {
    std::uint32_t b[kColumns / 2][kSplitTerms][4];  // each holds the operands of two products
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j) {
#pragma unroll
        for (int t = 0; t < kSplitTerms; ++t) {
            loadMatrices(
                b[j][t],
                &step.columns[place.column + j * 16 + columnOfLane()][t * kSplitStep + halfOfColumn()]);
        }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
        std::uint32_t a[kSplitTerms][4];
#pragma unroll
        for (int t = 0; t < kSplitTerms; ++t) {
            loadMatrices(a[t], &step.rows[place.row + i * 16 + rowOfLane()][t * kSplitStep + halfOfRow()]);
        }
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
            // Adds the smallest products first, which loses the fewest bits.
            float both[4] = {}, ofRow[4] = {}, ofColumn[4] = {};
            const auto multiply = [&](float(&sum)[4], int ofA, int ofB) {
                multiplyAdd<Term>(sum, a[ofA], b[j / 2][ofB][j % 2 * 2], b[j / 2][ofB][j % 2 * 2 + 1]);
            };
            multiply(ofRow, 2, 0);
            multiply(ofColumn, 0, 2);
            multiply(both, 1, 1);
            multiply(ofRow, 1, 0);
            multiply(ofColumn, 0, 1);
            multiply(both, 0, 0);
#pragma unroll
            for (int e = 0; e < 4; ++e)
                sums[i][j][e] += both[e] + (ofRow[e] + ofColumn[e]);
        }
    }
}

// Return the row or column of the tile for element `e` of a thread's product (i, j).
__device__ int rowWithin(const Place& place, int i, int e) {
    return place.row + i * 16 + threadIdx.x % 32 / 4 + e / 2 * 8;
}
__device__ int columnWithin(const Place& place, int j, int e) {
    return place.column + j * 8 + threadIdx.x % 4 * 2 + e % 2;
}

// Bits for the thread's rows and columns; a bit is set if the token of the row or column exists and is
// finite.
struct Flags {
    unsigned rows = 0, columns = 0;
};

__device__ Flags flagsOf(const UnitRows& unit, const ImageRows& image, const Tile& tile, const Place& place) {
    Flags flags;
#pragma unroll
    for (int h = 0; h < 2 * kRows; ++h) {
        if (counts(unit, image, tile.row * kTile + rowWithin(place, h / 2, h % 2 * 2))) flags.rows |= 1u << h;
    }
#pragma unroll
    for (int h = 0; h < 2 * kColumns; ++h) {
        if (counts(unit, image, tile.column * kTile + columnWithin(place, h / 2, h % 2)))
            flags.columns |= 1u << h;
    }
    return flags;
}

// Finds the best candidate of each row and column in a warp's share.
__device__ void compare(const Sums& sums, const Tile& tile, const Place& place, const Flags& flags,
                        Shared& shared) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Candidate ofColumn[2 * kColumns] = {};
#pragma unroll
    for (int i = 0; i < 2 * kRows; ++i) {
        const int row = rowWithin(place, i / 2, i % 2 * 2), token = tile.row * kTile + row;
        Candidate ofRow = kNoCandidate;
#pragma unroll
        for (int j = 0; j < 2 * kColumns; ++j) {
            const int other = tile.column * kTile + columnWithin(place, j / 2, j % 2);
            if (!(flags.rows >> i & flags.columns >> j & 1u) || other <= token) continue;
            const float similarity = sums[i / 2][j / 2][i % 2 * 2 + j % 2];
            ofRow = larger(ofRow, candidate(similarity, other));
            ofColumn[j] = larger(ofColumn[j], candidate(similarity, token));
        }
        // Four neighbouring lanes have the products of a row.
        for (int step = 1; step < 4; step *= 2)
            ofRow = larger(ofRow, __shfl_xor_sync(kWholeWarp, ofRow, step));
        if (lane % 4 == 0) shared.best.rows[warp % kWarpsAcross][row] = ofRow;
    }
#pragma unroll
    for (int j = 0; j < 2 * kColumns; ++j) {
        for (int step = 4; step < 32; step *= 2)
            ofColumn[j] = larger(ofColumn[j], __shfl_xor_sync(kWholeWarp, ofColumn[j], step));
        if (lane < 4)
            shared.best.columns[warp / kWarpsAcross][columnWithin(place, j / 2, j % 2)] = ofColumn[j];
    }
}

__global__ void __launch_bounds__(kThreads, 2) nearestTensorKernel(BatchView batch, UnitRows unit) {
    Shared& shared = blockMemory<Shared>();
    const ImageRows image = imageRows(batch, blockIdx.y);
    const Tile tile = tileOf(blockIdx.x);
    if (tile.column * kTile >= image.count) return;
    const Place place = placeOfWarp();
    const int steps = unit.stride / kSplitStep;
    Sums sums = {};
    loadStep(unit, image, tile, 0, shared.steps[0]);
    for (int step = 0; step < steps; ++step) {
        if (step + 1 < steps) {
            loadStep(unit, image, tile, step + 1, shared.steps[(step + 1) % 2]);
            awaitCopies<1>();
        } else {
            awaitCopies<0>();
        }
        __syncthreads();
        multiplyStep(shared.steps[step % 2], place, sums);
        __syncthreads();  // the next load overwrites the operands of this step
    }
    compare(sums, tile, place, flagsOf(unit, image, tile, place), shared);
    __syncthreads();
    const int within = threadIdx.x % kTile;
    Candidate best = kNoCandidate;
    if (threadIdx.x < kTile) {
        for (int w = 0; w < kWarpsAcross; ++w)
            best = larger(best, shared.best.rows[w][within]);
        offer(unit, image, tile.row * kTile + within, best);
    } else {
        for (int w = 0; w < kWarpsDown; ++w)
            best = larger(best, shared.best.columns[w][within]);
        offer(unit, image, tile.column * kTile + within, best);
    }
}

}  // namespace

void findNearestOnTensorCores(const BatchView& batch, const UnitRows& unit, cudaStream_t stream) {
    const int tokens = batch.longest - batch.special;
    if (tokens < 2) return;
    const dim3 grid(triangleTiles(tilesAlong(tokens, kTile)), batch.images);
    launchKernel("findNearestOnTensorCores", nearestTensorKernel, {grid, kThreads, sizeof(Shared)}, stream,
                 batch, unit);
}

}  // namespace mpm::cuda

#include "mpm_layer/cuda/kernels/merge.hpp"

#include "mpm_layer/cuda/kernels/launch.cuh"
#include "mpm_layer/cuda/kernels/layer_norm.cuh"
#include "mpm_layer/cuda/logic/arithmetic.hpp"

namespace mpm::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kScanThreads = 1024;

dim3 warpARowOfImages(int rows, int images) {
    return dim3((rows + kWarps - 1) / kWarps, images);
}

// Returns the sum of the terms of this thread and all threads before it. Sets `total` to the sum of the terms
// of all threads.
__device__ ClusterSum blockSum(ClusterSum term, ClusterSum* ofWarps, ClusterSum& total) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    ClusterSum sum = term;
    for (int step = 1; step < 32; step *= 2) {
        const ClusterSum before = __shfl_up_sync(kWholeWarp, sum, step);
        if (lane >= step) sum += before;
    }
    __syncthreads();  // all threads have read the sums of the previous call
    if (lane == 31) ofWarps[warp] = sum;
    __syncthreads();
    ClusterSum before = 0;
    total = 0;
    for (int w = 0; w < kScanThreads / 32; ++w) {
        if (w == warp) before = total;
        total += ofWarps[w];
    }
    return before + sum;
}

// Uses a thread block for each image. Numbers clusters in the order of their representatives.
__global__ void __launch_bounds__(kScanThreads)
    numberKernel(BatchView batch, const Candidate* best, ClusterTables tables) {
    __shared__ ClusterSum ofWarps[kScanThreads / 32];
    const int image = blockIdx.x;
    const int first = batch.offsets[image] + batch.special, count = batch.offsets[image + 1] - first;
    const ClusterLists lists = tables.of(image);
    ClusterSum carried = 0;
    for (int base = 0; base < count; base += kScanThreads) {
        const int token = base + static_cast<int>(threadIdx.x);
        const bool exists = token < count;
        const int partner = exists ? partnerOf(best + first, token) : -1;
        const ClusterSum term = exists ? clusterTerm(token, partner) : 0;
        ClusterSum total = 0;
        const ClusterSum sum = blockSum(term, ofWarps, total);
        if (exists) placeToken(lists, token, partner, carried + sum - term);
        carried += total;
    }
    if (threadIdx.x == 0) {
        lists.starts[clustersIn(carried)] = membersIn(carried);
        tables.counts[image] = clustersIn(carried);
    }
}

// A single warp is enough: a batch has few images.
__global__ void placeKernel(BatchView batch, ClusterTables tables, int* offsets, Extent* extent) {
    const int lane = threadIdx.x;
    int carried = 0, longest = 0;
    for (int base = 0; base < batch.images; base += 32) {
        const int image = base + lane;
        const int rows = image < batch.images ? batch.special + tables.counts[image] : 0;
        int sum = rows;
        for (int step = 1; step < 32; step *= 2) {
            const int before = __shfl_up_sync(kWholeWarp, sum, step);
            if (lane >= step) sum += before;
        }
        if (image < batch.images) offsets[image] = carried + sum - rows;
        carried += __shfl_sync(kWholeWarp, sum, 31);
        longest = max(longest, rows);
    }
    for (int step = 16; step > 0; step /= 2)
        longest = max(longest, __shfl_xor_sync(kWholeWarp, longest, step));
    if (lane == 0) {
        offsets[batch.images] = carried;
        *extent = {carried, longest};
    }
}

__device__ void copySpecial(const BatchView& batch, const RowState& from, int fromRow, const RowState& to,
                            int toRow) {
    const float* source = from.rows + static_cast<size_t>(fromRow) * batch.dim;
    float* target = to.rows + static_cast<size_t>(toRow) * batch.dim;
    for (int k = threadIdx.x; k < batch.dim; k += 32)
        target[k] = source[k];
    if (threadIdx.x != 0) return;
    to.sizes[toRow] = from.sizes[fromRow];
    to.positions[toRow] = from.positions[fromRow];
    if (to.bias) to.bias[toRow] = from.bias[fromRow];
}

__device__ double lengthOf(const float* row, int dim) {
    double sum = 0;
    for (int k = threadIdx.x; k < dim; k += 32)
        sum += static_cast<double>(row[k]) * row[k];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(kWholeWarp, sum, step);
    return sqrt(sum);
}

// Scales `mean`. The new length is the geometric mean of the old length and the average length of the
// members (weighted by size). Each thread reads and writes only elements of `mean` that it wrote, so no
// synchronisation is needed.
__device__ void scaleMean(const float* rows, int dim, const int* members, int count, const float* sizes,
                          float* mean) {
    double lengths = 0, total = 0;
    for (int m = 0; m < count; ++m) {
        lengths += sizes[members[m]] * lengthOf(rows + static_cast<size_t>(members[m]) * dim, dim);
        total += sizes[members[m]];
    }
    const double length = lengthOf(mean, dim);
    if (length == 0) return;
    const double scale = sqrt(lengths / total / length);
    for (int k = threadIdx.x; k < dim; k += 32)
        mean[k] = static_cast<float>(mean[k] * scale);
}

// Uses a warp for each row of the shortened batch.
__global__ void mergeKernel(BatchView batch, RowState from, const int* offsets, ClusterTables tables,
                            int mean, RowState to) {
    const int image = blockIdx.y, local = blockIdx.x * kWarps + threadIdx.y;
    const int toRow = offsets[image] + local;
    if (toRow >= offsets[image + 1]) return;
    if (local < batch.special) {
        copySpecial(batch, from, batch.offsets[image] + local, to, toRow);
        return;
    }
    const int first = batch.offsets[image] + batch.special, cluster = local - batch.special;
    const ClusterLists lists = tables.of(image);
    const int start = lists.starts[cluster], count = lists.starts[cluster + 1] - start;
    const int* members = lists.members + start;
    const float* sizes = from.sizes + first;
    const float* source = from.rows + static_cast<size_t>(first) * batch.dim;
    float* target = to.rows + static_cast<size_t>(toRow) * batch.dim;
    for (int k = threadIdx.x; k < batch.dim; k += 32)
        target[k] = meanElement(source + k, batch.dim, members, count, mean != 0 ? sizes : nullptr);
    if (mean == 2 && count > 1) scaleMean(source, batch.dim, members, count, sizes, target);
    if (threadIdx.x != 0) return;
    float size = 0;
    int position = from.positions[first + members[0]];
    for (int m = 0; m < count; ++m) {
        size += sizes[members[m]];
        position = min(position, from.positions[first + members[m]]);
    }
    to.sizes[toRow] = size;
    to.positions[toRow] = position;
    // The members' biases are weighted by size, so the result is the mean over all image tokens of the
    // cluster.
    if (to.bias) to.bias[toRow] = meanElement(from.bias + first, 1, members, count, sizes);
}

__global__ void composeKernel(ClusterTables tables, int tokens, int* composed) {
    const int token = blockIdx.x * blockDim.x + threadIdx.x;
    if (token >= tokens) return;
    int& id = composed[static_cast<size_t>(blockIdx.y) * tokens + token];
    id = tables.of(blockIdx.y).ids[id];
}

__global__ void startKernel(BatchView batch, int* offsets, RowState state, int* composed) {
    const int image = blockIdx.y, local = blockIdx.x * blockDim.x + threadIdx.x;
    if (local == 0) {
        offsets[image] = image * batch.longest;
        if (image == 0) offsets[batch.images] = batch.images * batch.longest;
    }
    if (local >= batch.longest) return;
    const int row = image * batch.longest + local, token = local - batch.special;
    state.sizes[row] = 1.0f;
    state.positions[row] = token < 0 ? -1 : token;
    if (token >= 0) composed[static_cast<size_t>(image) * (batch.longest - batch.special) + token] = token;
}

// Uses a warp for each token of the image. Repeats the final norm for each token of a cluster, which avoids
// writing and reading a normalised copy of the batch.
template <int V>
__global__ void restoreKernel(BatchView batch, const float* rows, NormView norm, const int* composed,
                              int tokens, float* out) {
    const int image = blockIdx.y, local = blockIdx.x * kWarps + threadIdx.y;
    const int perImage = batch.special + tokens, token = local - batch.special;
    if (local >= perImage) return;
    const int kept =
        token < 0 ? local : batch.special + composed[static_cast<size_t>(image) * tokens + token];
    const float* from = rows + static_cast<size_t>(batch.offsets[image] + kept) * batch.dim;
    float* to = out + (static_cast<size_t>(image) * perImage + local) * batch.dim;
    if (norm.present) {
        writeNormed<float, float, V>(from, batch.dim, norm, scaleOf<float, V>(from, batch.dim, norm), to);
        return;
    }
    for (int k = threadIdx.x * V; k < batch.dim; k += 32 * V)
        storePack(to + k, loadPack<float, V>(from + k));
}

}  // namespace

void numberClusters(const BatchView& batch, const Candidate* best, const ClusterTables& tables,
                    cudaStream_t stream) {
    launchKernel("numberClusters", numberKernel, {batch.images, kScanThreads}, stream, batch, best, tables);
}

void placeImages(const BatchView& batch, const ClusterTables& tables, int* offsets, Extent* extent,
                 cudaStream_t stream) {
    launchKernel("placeImages", placeKernel, {1, 32}, stream, batch, tables, offsets, extent);
}

void mergeRows(const BatchView& batch, const RowState& from, const int* offsets, const ClusterTables& tables,
               int mean, const RowState& to, cudaStream_t stream) {
    if (batch.longest == 0) return;
    launchKernel("mergeRows", mergeKernel, {warpARowOfImages(batch.longest, batch.images), dim3(32, kWarps)},
                 stream, batch, from, offsets, tables, mean, to);
}

void composeMaps(const ClusterTables& tables, int images, int tokens, int* composed, cudaStream_t stream) {
    if (tokens == 0) return;
    launchKernel("composeMaps", composeKernel, {dim3((tokens + 255) / 256, images), 256}, stream, tables,
                 tokens, composed);
}

void startBatch(const BatchView& batch, int* offsets, const RowState& state, int* composed,
                cudaStream_t stream) {
    launchKernel("startBatch", startKernel, {dim3(batch.longest / 256 + 1, batch.images), 256}, stream, batch,
                 offsets, state, composed);
}

void restoreRows(const BatchView& batch, const float* rows, const NormView& norm, const int* composed,
                 int tokens, float* out, cudaStream_t stream) {
    const int perImage = batch.special + tokens;
    if (perImage == 0) return;
    const dim3 grid = warpARowOfImages(perImage, batch.images), block(32, kWarps);
    if (batch.dim % 4 == 0) {
        launchKernel("restoreRows", restoreKernel<4>, {grid, block}, stream, batch, rows, norm, composed,
                     tokens, out);
    } else {
        launchKernel("restoreRows", restoreKernel<1>, {grid, block}, stream, batch, rows, norm, composed,
                     tokens, out);
    }
}

}  // namespace mpm::cuda

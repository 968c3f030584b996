// How threads divide the rows of a forward.
#pragma once

#include <algorithm>

#include "base/loops.hpp"
#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"

namespace mpm::cpu {

constexpr int kChunkRows = 96;

/// `limit`: the largest number of rows of a chunk. `group`: the number of rows of a group. A chunk has whole
/// groups.
struct ChunkSize {
    int limit, group;
};

/// Returns the size of chunks for products in this precision, so that the hidden layer of a chunk fits a
/// level-2 cache. AMX tiles process 32 rows together. In bf16 with tiles, chunks are larger, because loading
/// the weights for few rows would take longer than multiplying.
inline ChunkSize chunkSize(Precision precision, int hidden = 1) {
    constexpr int kTileRows = 32;
    const bool tiles = precision != Precision::F32 && kernels::multipliesInTiles();
    if (tiles && precision == Precision::BF16) return {2 * kChunkRows, kTileRows};
    return {std::clamp(192 * 1024 / hidden, kChunkRows / 2, kChunkRows),
            tiles ? kTileRows : kernels::rowGroup()};
}

/// Calls body(first, count) for chunks of whole groups, as equal as possible. The number of chunks is a
/// multiple of the number of threads, if there are enough groups.
template <class Body>
void forEachChunk(int rows, ChunkSize size, const Body& body) {
    const int group = size.group, groups = (rows + group - 1) / group;
    const int threads = std::max(1, cv::getNumThreads());
    const int least = (rows + size.limit - 1) / size.limit;
    const int chunks = std::min(groups, (least + threads - 1) / threads * threads);
    parallelFor(
        chunks,
        [&](int c) {
            const int first = static_cast<int>(static_cast<int64>(groups) * c / chunks) * group;
            const int last =
                std::min(rows, static_cast<int>(static_cast<int64>(groups) * (c + 1) / chunks) * group);
            if (last > first) body(first, last - first);
        },
        1);
}

}  // namespace mpm::cpu

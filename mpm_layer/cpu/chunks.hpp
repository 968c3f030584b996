// How threads share out the rows of a forward.
#pragma once

#include <algorithm>

#include "base/loops.hpp"
#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"

namespace mpm::cpu {

constexpr int kChunkRows = 96;

/// How rows are cut into chunks: the largest number in each, and the size of a group, which is never cut.
struct ChunkSize {
    int limit, group;
};

/// Chunks whose products have this precision, bounded so that a chunk's hidden layer stays in a level-2
/// cache. AMX tiles take 32 rows at once, and with bf16 they are so fast that loading the weights for a few
/// rows only would take longer than multiplying them.
inline ChunkSize chunkSize(Precision precision, int hidden = 1) {
    constexpr int kTileRows = 32;
    const bool tiles = precision != Precision::F32 && kernels::multipliesInTiles();
    if (tiles && precision == Precision::BF16) return {2 * kChunkRows, kTileRows};
    return {std::clamp(192 * 1024 / hidden, kChunkRows / 2, kChunkRows),
            tiles ? kTileRows : kernels::rowGroup()};
}

/// body(first, count): cuts rows into chunks of whole groups, as equal as possible; their number is a
/// multiple of the threads.
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

// Divides the rows of a forward into chunks for threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/loops.hpp"
#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"

namespace mpm::cpu {

constexpr int kChunkRows = 96;

/// `limit`: the largest number of rows of a chunk. `least`: the number of rows to which chunks may shrink
/// (chunkStarts). `group`: the number of rows that a product computes together; a chunk has whole groups.
struct ChunkSize {
    int limit, least, group;
};

/// Returns the size of chunks for products in this precision. The hidden layer of a chunk, with `hidden`
/// values for each row, should fit in a level-2 cache. AMX tiles process 32 rows together. In bf16 with
/// tiles, chunks are larger: for few rows, loading the weights would take longer than multiplying. Chunks may
/// shrink to less than `limit` only in f32. In other precisions, smaller chunks were not faster.
inline ChunkSize chunkSize(Precision precision, int hidden = 1) {
    constexpr int kTileRows = 32;
    const bool tiles = precision != Precision::F32 && kernels::multipliesInTiles();
    if (tiles && precision == Precision::BF16) return {2 * kChunkRows, 2 * kChunkRows, kTileRows};
    const int limit = std::clamp(192 * 1024 / hidden, kChunkRows / 2, kChunkRows);
    return {limit, precision == Precision::F32 ? limit / 4 : limit, tiles ? kTileRows : kernels::rowGroup()};
}

/// Returns the first group of each chunk, then the number of groups. If `least` is below `limit`, and each
/// thread can get a chunk of `limit` rows, the chunks become smaller towards the end, so that no thread
/// waits long for the last chunk of a slower thread. Otherwise the chunks are as equal as possible. If there
/// are enough groups, the number of these equal chunks is a multiple of the number of threads.
inline std::vector<int> chunkStarts(int rows, ChunkSize size, int threads) {
    const int groups = (rows + size.group - 1) / size.group;
    std::vector<int> starts{0};
    if (threads > 1 && size.least < size.limit && rows / size.limit >= threads) {
        const int most = std::max(1, size.limit / size.group), least = std::max(1, size.least / size.group);
        while (starts.back() < groups) {
            const int left = groups - starts.back();
            starts.push_back(starts.back() + std::min(left, std::clamp(left / (2 * threads), least, most)));
        }
        return starts;
    }
    const int needed = (rows + size.limit - 1) / size.limit;
    const int chunks = std::min(groups, (needed + threads - 1) / threads * threads);
    for (int c = 1; c <= chunks; ++c)
        starts.push_back(static_cast<int>(static_cast<int64>(groups) * c / chunks));
    return starts;
}

/// Calls body(first, count) for each chunk of `rows` rows, in parallel. A thread that has finished a chunk
/// takes the next chunk.
template <class Body>
void forEachChunk(int rows, ChunkSize size, const Body& body) {
    const int threads = std::max(1, cv::getNumThreads());
    const std::vector<int> starts = chunkStarts(rows, size, threads);
    const int chunks = static_cast<int>(starts.size()) - 1;
    std::atomic<int> next{0};
    const auto takeChunks = [&](int) {
        for (int c = next++; c < chunks; c = next++)
            body(starts[c] * size.group, std::min(rows, starts[c + 1] * size.group) - starts[c] * size.group);
    };
    parallelFor(std::min(chunks, threads), takeChunks, 1);
}

}  // namespace mpm::cpu

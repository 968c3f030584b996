// How threads share out the rows of a forward.
#pragma once

#include <algorithm>

#include "base/loops.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::cpu {

constexpr int kChunkRows = 96;

/// Rows that a thread processes at a time, bounded so that a chunk's hidden layer stays in a level-2 cache.
inline int chunkLimit(int hidden) {
    return std::clamp(192 * 1024 / hidden, kChunkRows / 2, kChunkRows);
}

/// body(first, count): cuts rows into chunks of whole row groups, as equal as can be, a multiple of the
/// threads in number.
template <class Body>
void forEachChunk(int rows, int limit, const Body& body) {
    const int group = kernels::rowGroup(), groups = (rows + group - 1) / group;
    const int threads = std::max(1, cv::getNumThreads());
    const int least = (rows + limit - 1) / limit;
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

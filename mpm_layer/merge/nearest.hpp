// The search for the most similar other token of every token.
#pragma once

#include <cstdint>
#include <vector>

#include "base/loops.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Returns, for each token, the index of the other token of the image with the highest cosine. The lowest
/// index wins ties. The result is -1 for a token that is not finite or is the only token of its image.
std::vector<std::vector<int>> nearestNeighbours(const std::vector<RowsView>& images);

/// Sums over all calls in this process: the number of rows, and of rows that needed products in f64.
struct NearestCounts {
    std::int64_t rows = 0, decided = 0;
};
NearestCounts nearestCounts();

/// Calls body(0) ... body(count - 1): in parallel if there are enough calls; else one after another, so that
/// each call may use threads.
template <class Body>
void parallelParts(int count, const Body& body) {
    if (count >= 2 * std::max(1, cv::getNumThreads())) return parallelFor(count, body, 1);
    for (int i = 0; i < count; ++i)
        body(i);
}

}  // namespace mpm

// The search for the most similar other token of every token.
#pragma once

#include <cstdint>
#include <vector>

#include "base/loops.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Finds, by cosine, the most similar other token of each token in its image. The lowest index wins ties; -1
/// for a token that is alone or not finite. Images and tiles are divided among OpenCV's threads.
std::vector<std::vector<int>> nearestNeighbours(const std::vector<RowsView>& images);

/// The number of rows in all calls of this process, and the number of rows that needed products in f64.
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

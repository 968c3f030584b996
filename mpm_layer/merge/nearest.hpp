// The search for the most similar other token of every token.
#pragma once

#include <cstdint>
#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Returns, for each token, the index of the other token of the image with the highest cosine. The lowest
/// index wins ties. The result is -1 for a token that is not finite or is the only token of its image.
std::vector<std::vector<int>> nearestNeighbours(const std::vector<RowsView>& images);

/// Totals of this process: the number of rows, and the number of rows that needed cosines in f64.
struct NearestCounts {
    std::int64_t rows = 0, decided = 0;
};
NearestCounts nearestCounts();

}  // namespace mpm

// Mutual Pair Merging: two tokens merge where each is the other's most similar one.
#pragma once

#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Most similar other token of every token by cosine, the lowest index on ties; -1 for a token that has none
/// (not finite, or alone). Each image on its own; images and tiles are divided among OpenCV's threads.
std::vector<std::vector<int>> nearestNeighbours(const std::vector<RowsView>& images);

/// Mutual pairs become one cluster, ids count representatives (the lower index) from left to right.
MergeMap pairUp(const std::vector<int>& nearest);

}  // namespace mpm

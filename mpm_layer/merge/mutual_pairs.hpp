// Mutual Pair Merging: two tokens merge if each is the other's most similar one.
#pragma once

#include <vector>

#include "mpm_layer/merge/merge_map.hpp"
#include "mpm_layer/merge/parameters.hpp"

namespace mpm {

/// Each mutual pair becomes a cluster. Ids number the representatives (the lower index) from left to
/// right.
MergeMap pairUp(const std::vector<int>& nearest);

/// Keeps only the most similar mutual pairs of `nearest`; if similarities are equal, the pair with the lower
/// index first.
void keepBestPairs(const RowsView& rows, const Amount& amount, std::vector<int>& nearest);

}  // namespace mpm

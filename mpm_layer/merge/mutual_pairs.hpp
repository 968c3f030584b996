// Mutual Pair Merging: two tokens merge where each is the other's most similar one.
#pragma once

#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Mutual pairs become one cluster, ids count representatives (the lower index) from left to right.
MergeMap pairUp(const std::vector<int>& nearest);

}  // namespace mpm

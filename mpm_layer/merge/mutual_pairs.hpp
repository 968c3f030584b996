// Mutual Pair Merging: two tokens merge if each is the other's most similar token.
#pragma once

#include <vector>

#include "mpm_layer/merge/merge_map.hpp"
#include "mpm_layer/merge/parameters.hpp"

namespace mpm {

/// Makes each mutual pair a cluster. Ids are in the order of the representatives (lowest members).
MergeMap pairUp(const std::vector<int>& nearest);

/// Keeps the most similar mutual pairs of `nearest`, as many as `amount` allows. If similarities are equal,
/// prefers the pair with the lower representative.
void keepBestPairs(const RowsView& rows, const Amount& amount, std::vector<int>& nearest);

}  // namespace mpm

// Bipartite matching of alternating tokens, as ToMe and the second stage of ALGM use it.
#pragma once

#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Every second token (a source) with its most similar token among the rest (the targets). Sources are at
/// even positions. As in the published methods, positions count special tokens in front.
struct Matching {
    std::vector<int> sources, targets;  ///< image tokens, ascending
    std::vector<double> similarity;     ///< per source; below any cosine if there is none
    std::vector<int> target;            ///< per source: index into targets

    /// Returns the sources by falling similarity, the lower index first on ties.
    std::vector<int> ranking() const;
    /// Merges the `edges` best sources with their targets. Unmerged sources come first, then targets, each in
    /// order: the next stage divides rows into even and odd in this order.
    MergeMap join(int edges) const;
};

Matching matchAlternating(const RowsView& metric, int special);

}  // namespace mpm

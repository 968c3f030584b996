// Bipartite matching of alternating tokens, as ToMe and the second stage of ALGM use it.
#pragma once

#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Every other token (the sources) with its most similar token of the rest (the targets). Positions count
/// special tokens in front, as the published methods do: even positions are sources.
struct Matching {
    std::vector<int> sources, targets;  ///< image tokens, ascending
    std::vector<double> similarity;     ///< per source; below any cosine where there is none
    std::vector<int> target;            ///< per source: index into targets

    /// Sources by falling similarity, the lower one first on ties.
    std::vector<int> ranking() const;
    /// The `edges` best sources join their targets. Unmerged sources come first, then targets, each in order:
    /// the next stage divides rows into even and odd by it.
    MergeMap join(int edges) const;
};

Matching matchAlternating(const RowsView& metric, int special);

}  // namespace mpm

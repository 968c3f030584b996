// Bipartite matching of even with odd tokens, for ToMe and the second stage of ALGM.
#pragma once

#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// The most similar target of each source. Sources are the image tokens at even positions, targets the image
/// tokens at odd positions. As in the published methods, positions count the special tokens too.
struct Matching {
    std::vector<int> sources, targets;  ///< image tokens, ascending
    std::vector<double> similarity;     ///< of each source to its target; less than -1 if there is no target
    std::vector<int> target;            ///< of each source: index into targets, or -1

    /// Returns the sources, the most similar first; if similarities are equal, the lower index first.
    std::vector<int> ranking() const;
    /// Merges the `edges` most similar sources with their targets. The clusters of unmerged sources come
    /// first, then the targets' clusters, both ascending. This order decides which rows are even and odd in
    /// the next stage.
    MergeMap join(int edges) const;
};

Matching matchAlternating(const RowsView& metric, int special);

}  // namespace mpm

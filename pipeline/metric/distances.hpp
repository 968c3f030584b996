// Distances between the tokens that a reducer joined: whether merging is local without a window.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// Counts by whole patches: distances[d] joins happened between tokens about d patches apart (rounded; the
/// eight neighbours are at 1).
using DistanceCounts = std::vector<int64_t>;

/// An entry for each stage. `stages`: the maps in order, CV_32S 1xK each, the first of them of the whole
/// grid. A token's place is the middle of the patches; in a larger cluster, each member counts against the
/// first.
std::vector<DistanceCounts> joinDistances(const std::vector<cv::Mat>& stages, cv::Size grid);

/// The same for two random patches, as shares: the distribution without any locality.
std::vector<double> chanceDistances(cv::Size grid);

void addCounts(std::vector<DistanceCounts>& sum, const std::vector<DistanceCounts>& more);

}  // namespace mpm::pipeline

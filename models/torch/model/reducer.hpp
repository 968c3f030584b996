// Reducers of tokens, written from their definitions in plain tensor operations. Training uses these
// reducers; they are also the reference for faster implementations.
#pragma once

#include <string>
#include <vector>

#include <torch/types.h>

namespace mpm::models {

struct ReducerSettings {
    std::string method = "mpm";     ///< mpm, tome, algm or none
    std::vector<int64_t> schedule;  ///< mpm: blocks before which tokens merge, counted from 0
    int64_t edges = 13;             ///< tome: tokens removed in each block
    double threshold = 0.88;        ///< algm: least mean similarity of a window that merges

    /// Returns whether any block reduces tokens. Throws if the method is unknown.
    bool reduces() const;
    /// Returns whether the method reduces the tokens at the block's input (mpm).
    bool actsBefore(int64_t block) const;
    /// Returns whether the method reduces tokens between the block's attention and MLP (tome, algm).
    bool actsInside(int64_t block, int64_t depth) const;
};

struct MergeTrace {
    torch::Tensor map;            ///< int64 [N], final cluster of each image token
    std::vector<int64_t> tokens;  ///< number of image tokens in the attention of each block
};

/// Returns the cluster of each row of tokens [N, D], as int64 [N]: mutual nearest neighbours by cosine form a
/// cluster. Clusters are numbered in the order of their representatives.
torch::Tensor mutualPairMap(const torch::Tensor& tokens);

/// Returns the merge map of ToMe. Each row at an even position (counted from the first special token) finds
/// the most similar row at an odd position; the `edges` best pairs merge. Clusters are in ToMe's order: even
/// rows that did not merge, then odd rows.
torch::Tensor alternatingMap(const torch::Tensor& metric, int64_t special, int64_t edges);

/// Returns the merge map of ALGM's second step. Finds pairs as ToMe does, but merges every pair with at least
/// this similarity: the mean of all pairs plus `deviations` standard deviations. In ALGM, `deviations` is
/// 1 / block, with blocks counted from 1.
torch::Tensor alternatingMap(const torch::Tensor& metric, int64_t special, double deviations);

/// Returns the merge map of ALGM's first step. Each 2x2 window of the grid merges if the mean pairwise cosine
/// is at least `threshold`. The most similar window is the first cluster.
torch::Tensor windowMap(const torch::Tensor& tokens, int64_t gridHeight, int64_t gridWidth, double threshold);

/// Returns the mean of the rows [N, D] of each cluster, [M, D], weighted by `sizes` [N] if given.
/// Differentiable.
torch::Tensor clusterMeans(const torch::Tensor& tokens, const torch::Tensor& map,
                           const torch::Tensor& sizes = {});

torch::Tensor clusterSizes(const torch::Tensor& sizes, const torch::Tensor& map);

/// Returns rows of length 1; a row of zeros remains zero.
torch::Tensor unitRows(const torch::Tensor& tokens);

}  // namespace mpm::models

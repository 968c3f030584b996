// Token reduction in transformer blocks, written from the definitions in plain tensor operations: the
// reference for faster implementations, and the reducers used in training.
#pragma once

#include <string>
#include <vector>

#include <torch/types.h>

namespace mpm::models {

struct ReducerSettings {
    std::string method = "mpm";     ///< mpm, tome, algm or none
    std::vector<int64_t> schedule;  ///< mpm: merges before these blocks (from 0, rising); {}: none
    int64_t edges = 13;             ///< tome: tokens removed in each block
    double threshold = 0.88;        ///< algm: mean similarity from which a window merges whole

    /// Whether any block reduces tokens. Throws for an unknown method.
    bool reduces() const;
    /// mpm acts on a block's input, tome and algm between attention and MLP.
    bool actsBefore(int64_t block) const;
    bool actsInside(int64_t block, int64_t depth) const;
};

/// Merges of an image.
struct MergeTrace {
    torch::Tensor map;            ///< int64 [N], final cluster of each image token
    std::vector<int64_t> tokens;  ///< image tokens entering each block
};

/// The cluster of each row of tokens [N, D], as int64 [N]: mutual nearest neighbours by cosine form a
/// cluster. A left-to-right scan over the representatives gives the ids.
torch::Tensor mutualPairMap(const torch::Tensor& tokens);

/// ToMe: each row at an even position (special tokens count) finds the most similar row at an odd position;
/// the `edges` best pairs merge. The result has ToMe's order: even rows that stay, then odd rows.
torch::Tensor alternatingMap(const torch::Tensor& metric, int64_t special, int64_t edges);

/// ALGM's second step: as in ToMe, but every pair merges that reaches mean + `deviations` * deviation. ALGM's
/// `deviations` is 1 / block number (from 1).
torch::Tensor alternatingMap(const torch::Tensor& metric, int64_t special, double deviations);

/// ALGM's first step: 2x2 windows of the grid whose mean pairwise cosine is at least `threshold` merge whole,
/// the most similar first.
torch::Tensor windowMap(const torch::Tensor& tokens, int64_t gridHeight, int64_t gridWidth, double threshold);

/// Mean of the rows [N, D] of each cluster, [M, D], weighted by `sizes` [N] if given. Differentiable.
torch::Tensor clusterMeans(const torch::Tensor& tokens, const torch::Tensor& map,
                           const torch::Tensor& sizes = {});

/// Sum of `sizes` [N] over each cluster.
torch::Tensor clusterSizes(const torch::Tensor& sizes, const torch::Tensor& map);

/// Rows of length 1; a row of zeros stays zero.
torch::Tensor unitRows(const torch::Tensor& tokens);

}  // namespace mpm::models

// Token reduction between transformer blocks, written straight from the definition in plain tensor
// operations: the oracle that faster implementations are held against.
#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

namespace mpm::models {

struct ReducerSettings {
    std::string method = "mpm";     ///< mpm or none
    std::vector<int64_t> schedule;  ///< 0-based blocks to merge before, rising; {} keeps all tokens
};

/// What happened to one image.
struct MergeTrace {
    torch::Tensor map;            ///< int64 [N], final cluster of each image token
    std::vector<int64_t> tokens;  ///< image tokens entering each block
};

/// Cluster of each row of tokens [N, D], int64 [N]: mutual nearest neighbours by cosine become one cluster,
/// ids by a left-to-right scan over representatives.
torch::Tensor mutualPairMap(const torch::Tensor& tokens);

/// Plain mean of the rows [N, D] of each cluster, [M, D]. Differentiable.
torch::Tensor clusterMeans(const torch::Tensor& tokens, const torch::Tensor& map);

}  // namespace mpm::models

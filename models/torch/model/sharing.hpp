// Token sharing (CTS; Lu, de Geus and Dubbelman 2023) in plain tensor operations: if a policy finds a single
// class in a superpatch of 2x2 patches, its patches share a token.
#pragma once

#include <torch/types.h>

#include "models/torch/model/policy.hpp"

namespace mpm::models {

struct Sharing {
    PolicyNet policy{nullptr};
    int64_t shared = 0;  ///< superpatches of an image of the model's size; 0: none

    /// The same share of another grid's superpatches.
    int64_t countOn(int64_t superpatches, int64_t ofModel) const;
};

/// Which token each patch of a batch has.
struct SharedTokens {
    torch::Tensor rows;  ///< int64 [B, K]: each token's row among N patches followed by N/4 superpatches
    torch::Tensor map;   ///< int64 [B, N]: the token of each patch; tokens count in raster order
};

/// The `count` highest scores of each row of [B, P], as indices in rising order; the lowest index wins ties.
/// No gradient passes.
torch::Tensor highestScores(const torch::Tensor& scores, int64_t count);

/// `chosen`: int64 [B, S], superpatches that share, of a grid of patches with even sides. K is N - 3 S.
SharedTokens shareTokens(const torch::Tensor& chosen, int64_t gridHeight, int64_t gridWidth);

/// Rows [B, N, D] of a grid of patches -> means of each superpatch, [B, N/4, D].
torch::Tensor superpatchMeans(const torch::Tensor& rows, int64_t gridHeight, int64_t gridWidth);

}  // namespace mpm::models

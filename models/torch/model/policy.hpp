// The policy of token sharing (CTS): a small network that predicts from the image, for each superpatch of 2x2
// patches, whether the superpatch shows a single class. The network consists of inverted residuals (MBConv)
// without squeeze-excite.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

constexpr int64_t kSuperpatch = 32;  ///< pixels of a superpatch's side, and the stride of the network

/// A convolution without bias, a batch norm, and ReLU6 if `activates`.
class ConvNormImpl : public torch::nn::Module {
public:
    ConvNormImpl(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t groups, bool activates);
    torch::Tensor forward(const torch::Tensor& x);

    /// Returns weight and bias of a convolution that gives the same result in evaluation mode.
    std::pair<torch::Tensor, torch::Tensor> folded() const;
    bool activates() const { return m_activates; }

    torch::nn::Conv2d conv{nullptr};
    torch::nn::BatchNorm2d norm{nullptr};

private:
    bool m_activates;
};
TORCH_MODULE(ConvNorm);

/// Expansion, depthwise convolution, projection; with a shortcut if the shapes allow it.
class InvertedResidualImpl : public torch::nn::Module {
public:
    InvertedResidualImpl(int64_t in, int64_t out, int64_t expansion, int64_t kernel, int64_t stride);
    torch::Tensor forward(const torch::Tensor& x);
    bool hasShortcut() const { return m_shortcut; }

    ConvNorm expand{nullptr}, depthwise{nullptr}, project{nullptr};

private:
    bool m_shortcut;
};
TORCH_MODULE(InvertedResidual);

/// Maps images [B, 3, H, W] to logits [B, 2, H/32, W/32]. Channel 1 is the logit of "a single class". H and W
/// must be multiples of 32.
class PolicyNetImpl : public torch::nn::Module {
public:
    explicit PolicyNetImpl(const Normalisation& normalisation = {});
    torch::Tensor forward(const torch::Tensor& images);

    /// Returns the number of multiply-adds for an image of this size.
    double multiplyAdds(int64_t height, int64_t width) const;
    const Normalisation& normalisation() const { return m_normalisation; }

    ConvNorm stem{nullptr};
    torch::nn::ModuleList blocks{nullptr};
    torch::nn::Conv2d head{nullptr};

private:
    Normalisation m_normalisation;
};
TORCH_MODULE(PolicyNet);

/// Saves weights and running statistics. loadPolicy() returns a network in evaluation mode, or throws
/// FileError.
void savePolicy(const std::string& path, const PolicyNet& policy);
PolicyNet loadPolicy(const std::string& path);

struct Sharing {
    PolicyNet policy{nullptr};
    int64_t shared = 0;  ///< number of superpatches whose patches share a token, at the model's size

    /// Scales `shared` to an image with another number of superpatches, and rounds the result. `ofModel`:
    /// number of superpatches at the model's size. Throws if `shared` is negative or above `ofModel`.
    int64_t countOn(int64_t superpatches, int64_t ofModel) const;
};

/// The tokens of a batch, and the token of each patch.
struct SharedTokens {
    torch::Tensor rows;  ///< int64 [B, K]: index of each token in a list of N patches, then N/4 superpatches
    torch::Tensor map;   ///< int64 [B, N]: the token of each patch; tokens are numbered in raster order
};

/// Returns the indices of the `count` highest scores in each row of `scores`, sorted by index. If
/// scores are equal, takes the lower index. The result has no gradient.
torch::Tensor highestScores(const torch::Tensor& scores, int64_t count);

/// Returns the tokens of a batch. `chosen`: int64 [B, S], the superpatches whose patches share a token. The
/// grid of patches must have even sides. The number of tokens K is N - 3 S.
SharedTokens shareTokens(const torch::Tensor& chosen, int64_t gridHeight, int64_t gridWidth);

/// Returns the mean row of each superpatch, [B, N/4, D]. `rows`, [B, N, D], has a row for each patch.
torch::Tensor superpatchMeans(const torch::Tensor& rows, int64_t gridHeight, int64_t gridWidth);

}  // namespace mpm::models

// The policy of token sharing (CTS): a small network that predicts from the image, for each superpatch of
// 2x2 patches, whether it shows a single class. Inverted residuals (MBConv) without squeeze-excite.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/utils.h>

#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

constexpr int64_t kSuperpatch = 32;  ///< pixels of a superpatch's side, and the stride of the network

/// A convolution without bias, batch norm, and ReLU6 if asked for.
class ConvNormImpl : public torch::nn::Module {
public:
    ConvNormImpl(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t groups, bool activates);
    torch::Tensor forward(const torch::Tensor& x);

    /// Weight and bias of a single convolution with the same result in evaluation.
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

/// images [B, 3, H, W], H and W multiples of 32 -> logits [B, 2, H/32, W/32]; channel 1: a single class.
class PolicyNetImpl : public torch::nn::Module {
public:
    explicit PolicyNetImpl(const Normalisation& normalisation = {});
    torch::Tensor forward(const torch::Tensor& images);

    /// Multiply-adds for an image of this size.
    double multiplyAdds(int64_t height, int64_t width) const;
    const Normalisation& normalisation() const { return m_normalisation; }

    ConvNorm stem{nullptr};
    torch::nn::ModuleList blocks{nullptr};
    torch::nn::Conv2d head{nullptr};

private:
    Normalisation m_normalisation;
};
TORCH_MODULE(PolicyNet);

/// Weights and running statistics. loadPolicy throws FileError; the network is in evaluation mode.
void savePolicy(const std::string& path, const PolicyNet& policy);
PolicyNet loadPolicy(const std::string& path);

}  // namespace mpm::models

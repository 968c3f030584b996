// Segmenter's two decoders: from tokens to a score for each class.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/utils.h>

#include "models/torch/model/vit.hpp"

namespace mpm::models {

/// tokens [B, K, D] -> scores [B, K, classes].
class DecoderImpl : public torch::nn::Module {
public:
    virtual torch::Tensor forward(const torch::Tensor& tokens) = 0;
};

class MaskTransformerImpl : public DecoderImpl {
public:
    MaskTransformerImpl(int64_t classes, int64_t encoderDim, int64_t dim, int64_t depth, int64_t heads,
                        double dropPath);
    torch::Tensor forward(const torch::Tensor& tokens) override;

    torch::nn::Linear projDec{nullptr};
    torch::Tensor clsEmb, projPatch, projClasses;
    torch::nn::ModuleList blocks{nullptr};
    torch::nn::LayerNorm decoderNorm{nullptr}, maskNorm{nullptr};

private:
    int64_t m_classes;
};

class LinearDecoderImpl : public DecoderImpl {
public:
    LinearDecoderImpl(int64_t classes, int64_t encoderDim);
    torch::Tensor forward(const torch::Tensor& tokens) override;

    torch::nn::Linear head{nullptr};
};

}  // namespace mpm::models

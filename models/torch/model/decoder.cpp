#include "models/torch/model/segmenter.hpp"

#include <algorithm>

#include "models/torch/model/compute.hpp"

namespace mpm::models {

MaskTransformerImpl::MaskTransformerImpl(int64_t classes, int64_t dim, int64_t depth) : m_classes(classes) {
    // Segmenter gives every decoder head 64 dimensions, like the encoder's heads.
    const int64_t heads = std::max<int64_t>(1, dim / 64);
    projDec = register_module("proj_dec", torch::nn::Linear(dim, dim));
    clsEmb = register_parameter("cls_emb", torch::zeros({1, classes, dim}));
    projPatch = register_parameter("proj_patch", torch::zeros({dim, dim}));
    projClasses = register_parameter("proj_classes", torch::zeros({dim, dim}));
    blocks = register_module("blocks", torch::nn::ModuleList());
    for (int64_t i = 0; i < depth; ++i)
        blocks->push_back(VitBlock(dim, heads, 0.0));
    decoderNorm = register_module("decoder_norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim})));
    maskNorm = register_module("mask_norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({classes})));
}

torch::Tensor MaskTransformerImpl::forward(const torch::Tensor& tokens) {
    const auto patches = tokens.size(1);
    const auto projected = mixedLinear(tokens, projDec->weight, projDec->bias).to(torch::kFloat32);
    auto x = torch::cat({projected, clsEmb.expand({tokens.size(0), -1, -1})}, 1);
    for (const auto& block : *blocks)
        x = block->as<VitBlockImpl>()->forward(x);
    x = decoderNorm(x);
    auto image = torch::matmul(x.narrow(1, 0, patches), projPatch);
    auto classes = torch::matmul(x.narrow(1, patches, m_classes), projClasses);
    image = image / image.norm(2, -1, true);
    classes = classes / classes.norm(2, -1, true);
    return maskNorm(torch::matmul(image, classes.transpose(1, 2)));
}

LinearDecoderImpl::LinearDecoderImpl(int64_t classes, int64_t encoderDim) {
    head = register_module("head", torch::nn::Linear(encoderDim, classes));
}

torch::Tensor LinearDecoderImpl::forward(const torch::Tensor& tokens) {
    return mixedLinear(tokens, head->weight, head->bias).to(torch::kFloat32);
}

BoxDecoderImpl::BoxDecoderImpl(int64_t classes, int64_t encoderDim) {
    hidden = register_module("hidden", torch::nn::Linear(encoderDim, encoderDim));
    scores = register_module("scores", torch::nn::Linear(encoderDim, classes));
    centres = register_module("centres", torch::nn::Linear(encoderDim, 2));
    sizes = register_module("sizes", torch::nn::Linear(encoderDim, 2));
}

torch::Tensor BoxDecoderImpl::forward(const torch::Tensor& tokens) {
    const auto rows = torch::gelu(mixedLinear(tokens, hidden->weight, hidden->bias).to(torch::kFloat32));
    return torch::cat({scores(rows), centres(rows), sizes(rows)}, 2);
}

}  // namespace mpm::models

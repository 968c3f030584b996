#include "models/torch/vit.hpp"

#include <algorithm>

#include "models/torch/compute.hpp"

namespace F = torch::nn::functional;

namespace mpm::models {

VitAttentionImpl::VitAttentionImpl(int64_t dim, int64_t heads) : m_heads(heads) {
    qkv = register_module("qkv", torch::nn::Linear(dim, 3 * dim));
    proj = register_module("proj", torch::nn::Linear(dim, dim));
}

torch::Tensor VitAttentionImpl::forward(const torch::Tensor& x) {
    const auto batch = x.size(0), tokens = x.size(1), dim = x.size(2), head = dim / m_heads;
    const auto parts = mixedLinear(x, qkv->weight, qkv->bias)
                           .reshape({batch, tokens, 3, m_heads, head})
                           .permute({2, 0, 3, 1, 4});
    const auto query = parts[0] * (1.0 / std::sqrt(static_cast<double>(head)));
    const auto weights = torch::matmul(query, parts[1].transpose(-2, -1)).softmax(-1);
    const auto mixed = torch::matmul(weights, parts[2]).transpose(1, 2).reshape({batch, tokens, dim});
    return mixedLinear(mixed, proj->weight, proj->bias);
}

VitMlpImpl::VitMlpImpl(int64_t dim, int64_t hidden) {
    fc1 = register_module("fc1", torch::nn::Linear(dim, hidden));
    fc2 = register_module("fc2", torch::nn::Linear(hidden, dim));
}

torch::Tensor VitMlpImpl::forward(const torch::Tensor& x) {
    return mixedLinear(torch::gelu(mixedLinear(x, fc1->weight, fc1->bias)), fc2->weight, fc2->bias);
}

static torch::nn::LayerNorm layerNorm(int64_t dim) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}));
}

VitBlockImpl::VitBlockImpl(int64_t dim, int64_t heads, double dropPath) : m_dropPath(dropPath) {
    norm1 = register_module("norm1", layerNorm(dim));
    norm2 = register_module("norm2", layerNorm(dim));
    attn = register_module("attn", VitAttention(dim, heads));
    mlp = register_module("mlp", VitMlp(dim, 4 * dim));
}

static torch::Generator& dropPathGenerator() {
    thread_local torch::Generator generator = at::detail::createCPUGenerator();
    return generator;
}

void seedDropPath(uint64_t seed) {
    dropPathGenerator().set_current_seed(seed);
}

torch::Tensor VitBlockImpl::dropPath(const torch::Tensor& branch) const {
    const auto full = branch.to(torch::kFloat32);
    if (!is_training() || m_dropPath <= 0) return full;
    const double keep = 1.0 - m_dropPath;
    const auto mask = torch::empty({full.size(0), 1, 1}).bernoulli_(keep, dropPathGenerator()).div_(keep);
    return full * mask.to(full.device());
}

torch::Tensor VitBlockImpl::forward(torch::Tensor x) {
    x = x + dropPath(attn(norm1(x)));
    return x + dropPath(mlp(norm2(x)));
}

PatchEmbedImpl::PatchEmbedImpl(int64_t patch, int64_t dim) {
    proj = register_module("proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, dim, patch).stride(patch)));
}

torch::Tensor PatchEmbedImpl::forward(const torch::Tensor& pictures) {
    return proj(pictures).flatten(2).transpose(1, 2);
}

VisionTransformerImpl::VisionTransformerImpl(const VitOptions& options) : m_options(options) {
    TORCH_CHECK(options.height % options.patch == 0 && options.width % options.patch == 0,
                "height and width must be multiples of the patch size");
    TORCH_CHECK(options.dim % options.heads == 0, "dim must be a multiple of heads");
    const auto tokens = options.gridHeight() * options.gridWidth() + options.specialTokens();
    patchEmbed = register_module("patch_embed", PatchEmbed(options.patch, options.dim));
    clsToken = register_parameter("cls_token", torch::zeros({1, 1, options.dim}));
    if (options.distilled) distToken = register_parameter("dist_token", torch::zeros({1, 1, options.dim}));
    posEmbed = register_parameter("pos_embed", torch::zeros({1, tokens, options.dim}));
    blocks = register_module("blocks", torch::nn::ModuleList());
    for (int64_t i = 0; i < options.depth; ++i) {
        const double drop = options.depth > 1 ? options.dropPath * i / (options.depth - 1) : 0.0;
        blocks->push_back(VitBlock(options.dim, options.heads, drop));
    }
    norm = register_module("norm", layerNorm(options.dim));
}

torch::Tensor VisionTransformerImpl::positionsFor(int64_t gridHeight, int64_t gridWidth) const {
    return resizePositions(posEmbed, m_options.specialTokens(), m_options.gridHeight(), m_options.gridWidth(),
                           gridHeight, gridWidth);
}

torch::Tensor VisionTransformerImpl::forward(const torch::Tensor& pictures) {
    const auto patch = m_options.patch;
    TORCH_CHECK(pictures.dim() == 4 && pictures.size(2) % patch == 0 && pictures.size(3) % patch == 0,
                "pictures must be [B, 3, H, W] with H and W multiples of the patch size");
    const auto batch = pictures.size(0);
    std::vector<torch::Tensor> rows{clsToken.expand({batch, -1, -1})};
    if (m_options.distilled) rows.push_back(distToken.expand({batch, -1, -1}));
    rows.push_back(patchEmbed(pictures));
    auto x = torch::cat(rows, 1) + positionsFor(pictures.size(2) / patch, pictures.size(3) / patch);
    m_traces.clear();
    if (m_reducer.method == "none" || m_reducer.schedule.empty()) {
        for (const auto& block : *blocks)
            x = block->as<VitBlockImpl>()->forward(x);
        return norm(x);
    }
    std::vector<torch::Tensor> images;  // counts differ from image to image, so each runs alone
    for (int64_t b = 0; b < batch; ++b)
        images.push_back(runMerged(x.narrow(0, b, 1)));
    return norm(torch::cat(images, 0));
}

torch::Tensor VisionTransformerImpl::runMerged(const torch::Tensor& tokens) {
    TORCH_CHECK(m_reducer.method == "mpm", "unknown reducer ", m_reducer.method);
    const auto special = m_options.specialTokens();
    const auto& schedule = m_reducer.schedule;
    auto x = tokens;
    MergeTrace trace{torch::arange(tokens.size(1) - special), {}};
    for (int64_t i = 0; i < m_options.depth; ++i) {
        if (std::find(schedule.begin(), schedule.end(), i) != schedule.end()) {
            const auto image = x[0].narrow(0, special, x.size(1) - special);
            const auto map = mutualPairMap(image);
            x = torch::cat({x[0].narrow(0, 0, special), clusterMeans(image, map)}, 0).unsqueeze(0);
            trace.map = map.index_select(0, trace.map);
        }
        trace.tokens.push_back(x.size(1) - special);
        x = blocks[i]->as<VitBlockImpl>()->forward(x);
    }
    m_traces.push_back(trace);
    const auto gather = torch::cat({torch::arange(special), trace.map + special}).to(x.device());
    return x.index_select(1, gather);
}

torch::Tensor resizePositions(const torch::Tensor& positions, int64_t special, int64_t fromHeight,
                              int64_t fromWidth, int64_t toHeight, int64_t toWidth) {
    TORCH_CHECK(positions.size(1) == special + fromHeight * fromWidth,
                "position embedding does not fit its grid");
    if (fromHeight == toHeight && fromWidth == toWidth) return positions;
    const auto dim = positions.size(2);
    const auto grid = positions.narrow(1, special, fromHeight * fromWidth)
                          .reshape({1, fromHeight, fromWidth, dim})
                          .permute({0, 3, 1, 2});
    const auto resized = F::interpolate(grid, F::InterpolateFuncOptions()
                                                  .size(std::vector<int64_t>{toHeight, toWidth})
                                                  .mode(torch::kBilinear)
                                                  .align_corners(false));
    return torch::cat({positions.narrow(1, 0, special), resized.flatten(2).transpose(1, 2)}, 1);
}

}  // namespace mpm::models

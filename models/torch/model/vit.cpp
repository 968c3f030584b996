#include "models/torch/model/segmenter.hpp"

#include <algorithm>

#include "models/torch/model/compute.hpp"
#include "models/torch/model/policy.hpp"

namespace mpm::models {

VitAttentionImpl::VitAttentionImpl(int64_t dim, int64_t heads) : m_heads(heads) {
    qkv = register_module("qkv", torch::nn::Linear(dim, 3 * dim));
    proj = register_module("proj", torch::nn::Linear(dim, dim));
}

torch::Tensor VitAttentionImpl::forward(const torch::Tensor& x, const torch::Tensor& keyBias,
                                        torch::Tensor* keys) {
    const auto batch = x.size(0), tokens = x.size(1), dim = x.size(2), head = dim / m_heads;
    const auto parts = mixedLinear(x, qkv->weight, qkv->bias)
                           .reshape({batch, tokens, 3, m_heads, head})
                           .permute({2, 0, 3, 1, 4});
    const auto query = parts[0] * (1.0 / std::sqrt(static_cast<double>(head)));
    auto logits = torch::matmul(query, parts[1].transpose(-2, -1));
    if (keyBias.defined()) logits = logits + keyBias.to(logits.scalar_type());
    if (keys) *keys = parts[1].to(torch::kFloat32).mean(1);
    const auto mixed =
        torch::matmul(logits.softmax(-1), parts[2]).transpose(1, 2).reshape({batch, tokens, dim});
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

torch::Tensor VitBlockImpl::attend(const torch::Tensor& x, const torch::Tensor& keyBias,
                                   torch::Tensor* keys) {
    return x + dropPath(attn(norm1(x), keyBias, keys));
}

torch::Tensor VitBlockImpl::runMlp(const torch::Tensor& x) {
    return x + dropPath(mlp(norm2(x)));
}

PatchEmbedImpl::PatchEmbedImpl(int64_t patch, int64_t dim) {
    proj = register_module("proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, dim, patch).stride(patch)));
}

torch::Tensor PatchEmbedImpl::forward(const torch::Tensor& images) {
    return proj(images).flatten(2).transpose(1, 2);
}

VisionTransformerImpl::VisionTransformerImpl(const VitOptions& options) : m_options(options) {
    TORCH_CHECK(options.height % options.patch == 0 && options.width % options.patch == 0,
                "height and width must be multiples of the patch size");
    TORCH_CHECK(options.dim % options.heads == 0, "dim must be a multiple of heads");
    const auto tokens = options.patches() + options.specialTokens();
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

torch::Tensor VisionTransformerImpl::embed(const torch::Tensor& images) {
    const auto patch = m_options.patch;
    TORCH_CHECK(images.dim() == 4 && images.size(2) % patch == 0 && images.size(3) % patch == 0,
                "images must be [B, 3, H, W] with H and W multiples of the patch size");
    const auto batch = images.size(0);
    std::vector<torch::Tensor> rows{clsToken.expand({batch, -1, -1})};
    if (m_options.distilled) rows.push_back(distToken.expand({batch, -1, -1}));
    rows.push_back(patchEmbed(images));
    return torch::cat(rows, 1) + positionsFor(images.size(2) / patch, images.size(3) / patch);
}

bool TokenTaps::wants(int64_t block) const {
    return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

struct VisionTransformerImpl::Reduced {
    torch::Tensor x;      ///< [1, special + M, D]
    torch::Tensor sizes;  ///< [M], number of the image's tokens in each row
    torch::Tensor map;    ///< row of each token of the image
    int64_t number, special, gridHeight, gridWidth;

    torch::Tensor image() const { return x[0].narrow(0, special, x.size(1) - special); }

    void merge(const torch::Tensor& step, bool bySize) {
        const auto means = clusterMeans(image(), step, bySize ? sizes : torch::Tensor());
        x = torch::cat({x[0].narrow(0, 0, special), means}, 0).unsqueeze(0);
        sizes = clusterSizes(sizes, step);
        map = step.index_select(0, map);
    }
};

torch::Tensor VisionTransformerImpl::reduceInside(Reduced& state, VitBlockImpl& block, int64_t number) const {
    const auto special = state.special;
    const bool tome = m_reducer.method == "tome";
    torch::Tensor keys, bias;
    if (tome) bias = torch::cat({torch::zeros({special}, state.sizes.options()), state.sizes.log()});
    state.x = block.attend(state.x, bias, &keys);
    if (tome)
        state.merge(alternatingMap(keys[0].slice(0, special), special, m_reducer.edges), true);
    else if (number == 0)
        state.merge(windowMap(state.image(), state.gridHeight, state.gridWidth, m_reducer.threshold), true);
    else
        state.merge(alternatingMap(state.image(), special, 1.0 / static_cast<double>(number + 1)), true);
    return block.runMlp(state.x);
}

torch::Tensor VisionTransformerImpl::runWhole(torch::Tensor x, TokenTaps* taps) const {
    const auto special = m_options.specialTokens();
    for (int64_t i = 0; i < m_options.depth; ++i) {
        if (taps && taps->wants(i)) {
            for (int64_t b = 0; b < x.size(0); ++b)
                taps->taps.push_back({b, x[b].slice(0, special), {}});
        }
        x = (*blocks)[static_cast<size_t>(i)]->as<VitBlockImpl>()->forward(x);
    }
    return x;
}

torch::Tensor VisionTransformerImpl::runReduced(Reduced state, MergeTrace& trace, TokenTaps* taps) const {
    const auto special = state.special;
    for (int64_t i = 0; i < m_options.depth; ++i) {
        auto& block = *(*blocks)[static_cast<size_t>(i)]->as<VitBlockImpl>();
        if (taps && taps->wants(i)) taps->taps.push_back({state.number, state.image(), state.map});
        if (m_reducer.actsBefore(i)) state.merge(mutualPairMap(state.image()), false);
        trace.tokens.push_back(state.x.size(1) - special);
        state.x =
            m_reducer.actsInside(i, m_options.depth) ? reduceInside(state, block, i) : block.forward(state.x);
    }
    trace.map = state.map;
    const auto gather = torch::cat({torch::arange(special), state.map + special}).to(state.x.device());
    return state.x.index_select(1, gather);
}

torch::Tensor VisionTransformerImpl::forward(const torch::Tensor& images, TokenTaps* taps) {
    const auto x = embed(images);
    if (!m_reducer.reduces()) {
        if (!is_training()) m_traces.clear();
        return norm(runWhole(x, taps));
    }
    const auto patch = m_options.patch, special = m_options.specialTokens(), count = x.size(1) - special;
    std::vector<torch::Tensor> restored;  // token counts differ between images, so each image runs alone
    std::vector<MergeTrace> traces(static_cast<size_t>(x.size(0)));
    for (int64_t b = 0; b < x.size(0); ++b) {
        const Reduced state{x.narrow(0, b, 1),
                            torch::ones({count}, x.options()),
                            torch::arange(count),
                            b,
                            special,
                            images.size(2) / patch,
                            images.size(3) / patch};
        restored.push_back(runReduced(state, traces[static_cast<size_t>(b)], taps));
    }
    if (!is_training()) m_traces = std::move(traces);  // in training, several threads run this function
    return norm(torch::cat(restored, 0));
}

torch::Tensor VisionTransformerImpl::forwardShared(const torch::Tensor& images, const SharedTokens& shared) {
    TORCH_CHECK(!m_reducer.reduces(), "tokens are shared or merged, not both");
    const auto special = m_options.specialTokens(), dim = m_options.dim;
    const auto rows = images.size(2) / m_options.patch, columns = images.size(3) / m_options.patch;
    const auto fine = embed(images);
    const auto positions = positionsFor(rows, columns).slice(1, special);
    const auto coarse =
        patchEmbed(torch::avg_pool2d(images, {2, 2})) + superpatchMeans(positions, rows, columns);
    const auto all = torch::cat({fine.slice(1, special), coarse}, 1);
    const auto index = shared.rows.unsqueeze(2).expand({-1, -1, dim});
    if (!is_training()) m_traces.clear();
    return norm(runWhole(torch::cat({fine.narrow(1, 0, special), all.gather(1, index)}, 1), nullptr));
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
    const auto resized = enlarge(grid, toHeight, toWidth).flatten(2).transpose(1, 2);
    return torch::cat({positions.narrow(1, 0, special), resized}, 1);
}

}  // namespace mpm::models

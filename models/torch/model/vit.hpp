// Vision transformer as Segmenter's encoder has it. Parameters carry the names of the published checkpoints.
#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

#include "base/checked.hpp"
#include "models/torch/model/reducer.hpp"

namespace mpm::models {

struct VitOptions {
    int64_t height = 352, width = 480;  ///< of the picture, multiples of patch
    int64_t patch = 16;
    int64_t dim = 192, depth = 12, heads = 3;
    bool distilled = false;  ///< a distillation token behind the class token
    double dropPath = 0.0;   ///< of the last block; rises linearly from 0 at the first

    int64_t gridHeight() const { return height / patch; }
    int64_t gridWidth() const { return width / patch; }
    int64_t patches() const { return checkedProduct<int64_t>(gridHeight(), gridWidth()); }
    int64_t specialTokens() const { return distilled ? 2 : 1; }
};

/// Takes down the image tokens that reach chosen blocks, before any merging there.
struct TokenTaps {
    struct Tap {
        int64_t image;
        torch::Tensor tokens;  ///< [M, D]
        torch::Tensor map;     ///< int64 [N], the row that stands for each patch; undefined: each has its own
    };
    std::vector<int64_t> blocks;  ///< 0-based
    std::vector<Tap> taps;

    bool wants(int64_t block) const;
};

class VitAttentionImpl : public torch::nn::Module {
public:
    VitAttentionImpl(int64_t dim, int64_t heads);
    /// `keyBias` [N] joins the logits of each key; `keys` takes their mean over heads, [B, N, head].
    torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& keyBias = {},
                          torch::Tensor* keys = nullptr);

    torch::nn::Linear qkv{nullptr}, proj{nullptr};

private:
    int64_t m_heads;
};
TORCH_MODULE(VitAttention);

class VitMlpImpl : public torch::nn::Module {
public:
    VitMlpImpl(int64_t dim, int64_t hidden);
    torch::Tensor forward(const torch::Tensor& x);

    torch::nn::Linear fc1{nullptr}, fc2{nullptr};
};
TORCH_MODULE(VitMlp);

class VitBlockImpl : public torch::nn::Module {
public:
    VitBlockImpl(int64_t dim, int64_t heads, double dropPath);
    torch::Tensor forward(const torch::Tensor& x) { return think(attend(x)); }

    /// The two halves, for what acts between them.
    torch::Tensor attend(const torch::Tensor& x, const torch::Tensor& keyBias = {},
                         torch::Tensor* keys = nullptr);
    torch::Tensor think(const torch::Tensor& x);

    torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
    VitAttention attn{nullptr};
    VitMlp mlp{nullptr};

private:
    torch::Tensor dropPath(const torch::Tensor& branch) const;
    double m_dropPath;
};
TORCH_MODULE(VitBlock);

class PatchEmbedImpl : public torch::nn::Module {
public:
    PatchEmbedImpl(int64_t patch, int64_t dim);
    torch::Tensor forward(const torch::Tensor& pictures);

    torch::nn::Conv2d proj{nullptr};
};
TORCH_MODULE(PatchEmbed);

class VisionTransformerImpl : public torch::nn::Module {
public:
    explicit VisionTransformerImpl(const VitOptions& options);

    /// pictures [B, 3, H, W], H and W multiples of the patch -> tokens [B, special + N, D], restored to full
    /// number.
    torch::Tensor forward(const torch::Tensor& pictures, TokenTaps* taps = nullptr);

    void setReducer(const ReducerSettings& settings) { m_reducer = settings; }
    /// Of the last forward that merged and was not training: by image.
    const std::vector<MergeTrace>& traces() const { return m_traces; }

    const VitOptions& options() const { return m_options; }

    PatchEmbed patchEmbed{nullptr};
    torch::Tensor clsToken, distToken, posEmbed;
    torch::nn::ModuleList blocks{nullptr};
    torch::nn::LayerNorm norm{nullptr};

private:
    struct Reduced;
    torch::Tensor embed(const torch::Tensor& pictures);
    torch::Tensor runWhole(torch::Tensor x, TokenTaps* taps) const;
    torch::Tensor runReduced(Reduced state, MergeTrace& trace, TokenTaps* taps) const;
    torch::Tensor reduceInside(Reduced& state, VitBlockImpl& block, int64_t number) const;
    torch::Tensor positionsFor(int64_t gridHeight, int64_t gridWidth) const;

    VitOptions m_options;
    ReducerSettings m_reducer;
    std::vector<MergeTrace> m_traces;
};
TORCH_MODULE(VisionTransformer);

/// Stochastic depth draws from a generator of the calling thread's own, so that parts of a batch may run side
/// by side and still be the same in every run.
void seedDropPath(uint64_t seed);

/// Position embedding [1, special + h*w, D] to another grid: bilinear over the grid, special rows kept.
torch::Tensor resizePositions(const torch::Tensor& positions, int64_t special, int64_t fromHeight,
                              int64_t fromWidth, int64_t toHeight, int64_t toWidth);

}  // namespace mpm::models

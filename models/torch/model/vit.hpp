// The vision transformer of Segmenter's encoder. Parameters have the names of the published checkpoints.
#pragma once

#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/utils.h>

#include "base/checked.hpp"
#include "models/torch/model/reducer.hpp"

namespace mpm::models {

struct VitOptions {
    int64_t height = 352, width = 480;  ///< of the image, multiples of patch
    int64_t patch = 16;
    int64_t dim = 192, depth = 12, heads = 3;
    bool distilled = false;  ///< a distillation token behind the class token
    double dropPath = 0.0;   ///< of the last block; rises linearly from 0 at the first

    int64_t gridHeight() const { return height / patch; }
    int64_t gridWidth() const { return width / patch; }
    int64_t patches() const { return checkedProduct<int64_t>(gridHeight(), gridWidth()); }
    int64_t specialTokens() const { return distilled ? 2 : 1; }
};

/// Records the image tokens at the entry of chosen blocks, before merging.
struct TokenTaps {
    struct Tap {
        int64_t image;
        torch::Tensor tokens;  ///< [M, D]
        torch::Tensor map;     ///< int64 [N], the row of each patch; undefined: row i for patch i
    };
    std::vector<int64_t> blocks;  ///< 0-based
    std::vector<Tap> taps;

    bool wants(int64_t block) const;
};

struct SharedTokens;

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
    torch::Tensor forward(const torch::Tensor& x) { return runMlp(attend(x)); }

    /// The two halves of a block, for reducers that act between them.
    torch::Tensor attend(const torch::Tensor& x, const torch::Tensor& keyBias = {},
                         torch::Tensor* keys = nullptr);
    torch::Tensor runMlp(const torch::Tensor& x);

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
    torch::Tensor forward(const torch::Tensor& images);

    torch::nn::Conv2d proj{nullptr};
};
TORCH_MODULE(PatchEmbed);

class VisionTransformerImpl : public torch::nn::Module {
public:
    explicit VisionTransformerImpl(const VitOptions& options);

    /// images [B, 3, H, W], H and W multiples of the patch -> tokens [B, special + N, D], always
    /// restored.
    torch::Tensor forward(const torch::Tensor& images, TokenTaps* taps = nullptr);

    /// Tokens [B, special + K, D], not restored: superpatches that share have the token of their half-size
    /// image, with the mean of their positions. Not with a reducer.
    torch::Tensor forwardShared(const torch::Tensor& images, const SharedTokens& shared);

    void setReducer(const ReducerSettings& settings) { m_reducer = settings; }
    /// The trace of each image of the last forward that merged outside of training.
    const std::vector<MergeTrace>& traces() const { return m_traces; }

    const VitOptions& options() const { return m_options; }

    PatchEmbed patchEmbed{nullptr};
    torch::Tensor clsToken, distToken, posEmbed;
    torch::nn::ModuleList blocks{nullptr};
    torch::nn::LayerNorm norm{nullptr};

private:
    struct Reduced;
    torch::Tensor embed(const torch::Tensor& images);
    torch::Tensor runWhole(torch::Tensor x, TokenTaps* taps) const;
    torch::Tensor runReduced(Reduced state, MergeTrace& trace, TokenTaps* taps) const;
    torch::Tensor reduceInside(Reduced& state, VitBlockImpl& block, int64_t number) const;
    torch::Tensor positionsFor(int64_t gridHeight, int64_t gridWidth) const;

    VitOptions m_options;
    ReducerSettings m_reducer;
    std::vector<MergeTrace> m_traces;
};
TORCH_MODULE(VisionTransformer);

/// Stochastic depth uses a random generator of the calling thread, so that parts of a batch can run in
/// parallel and give the same result in every run.
void seedDropPath(uint64_t seed);

/// Position embedding [1, special + h*w, D] to another grid: bilinear over the grid, special rows kept.
torch::Tensor resizePositions(const torch::Tensor& positions, int64_t special, int64_t fromHeight,
                              int64_t fromWidth, int64_t toHeight, int64_t toWidth);

}  // namespace mpm::models

// Segmenter: a vision transformer and a decoder for masks or boxes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/utils.h>
#include <opencv2/core.hpp>

#include "base/checked.hpp"
#include "models/torch/model/reducer.hpp"

namespace mpm::models {

struct VitOptions {
    int64_t height = 352, width = 480;  ///< of the image, multiples of patch
    int64_t patch = 16;
    int64_t dim = 192, depth = 12, heads = 3;
    bool distilled = false;  ///< a distillation token after the class token
    double dropPath = 0.0;   ///< stochastic depth of the last block; rises linearly from 0 in the first block

    int64_t gridHeight() const { return height / patch; }
    int64_t gridWidth() const { return width / patch; }
    int64_t patches() const { return checkedProduct<int64_t>(gridHeight(), gridWidth()); }
    int64_t specialTokens() const { return distilled ? 2 : 1; }
};

/// A record of the image tokens that enter chosen blocks, before the blocks merge tokens.
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
    /// `keyBias` [N] is added to the logits of each key. `keys`, unless null, receives the mean of the keys
    /// over heads, [B, N, head size].
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

    /// Run the two halves of a block. Some reducers act between the halves.
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

    /// Returns restored tokens [B, special + N, D] of images [B, 3, H, W]; H and W must be multiples of the
    /// patch size.
    torch::Tensor forward(const torch::Tensor& images, TokenTaps* taps = nullptr);

    /// Returns tokens [B, special + K, D], not restored. The four patches of a chosen superpatch share a
    /// token, which comes from the half-size image and has the mean of their positions. Throws if the encoder
    /// reduces tokens.
    torch::Tensor forwardShared(const torch::Tensor& images, const SharedTokens& shared);

    void setReducer(const ReducerSettings& settings) { m_reducer = settings; }
    /// Returns a trace for each image of the previous call to forward() in evaluation mode; empty if the call
    /// did not merge.
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

/// Seeds stochastic depth on the calling thread. Each thread has a separate random generator, so that parts
/// of a step can run in parallel and give the same result in every run.
void seedDropPath(uint64_t seed);

/// Resizes a position embedding [1, special + h*w, D] to another grid, bilinearly; special rows do not
/// change.
torch::Tensor resizePositions(const torch::Tensor& positions, int64_t special, int64_t fromHeight,
                              int64_t fromWidth, int64_t toHeight, int64_t toWidth);

/// A decoder, which maps tokens [B, K, D] to scores [B, K, classes].
class DecoderImpl : public torch::nn::Module {
public:
    virtual torch::Tensor forward(const torch::Tensor& tokens) = 0;
};

class MaskTransformerImpl : public DecoderImpl {
public:
    MaskTransformerImpl(int64_t classes, int64_t dim, int64_t depth);
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

/// A decoder that finds a box at each patch. Maps tokens [B, K, D] to [B, K, classes + 4]. The channels
/// are the logits of the classes, the offset of the box's centre from the patch's centre, and the logarithm
/// of the box's size. Offset and size are in patches.
class BoxDecoderImpl : public DecoderImpl {
public:
    BoxDecoderImpl(int64_t classes, int64_t encoderDim);
    torch::Tensor forward(const torch::Tensor& tokens) override;

    torch::nn::Linear hidden{nullptr}, scores{nullptr}, centres{nullptr}, sizes{nullptr};
};

/// Mean and deviation of RGB images with values from 0 to 1.
struct Normalisation {
    std::array<double, 3> mean{0.5, 0.5, 0.5}, deviation{0.5, 0.5, 0.5};

    bool operator==(const Normalisation& other) const {
        return mean == other.mean && deviation == other.deviation;
    }

    /// Returns the values for vit (all 0.5) or deit (ImageNet's); the names are Segmenter's.
    static Normalisation named(const std::string& name);
};

struct Sharing;

struct SegmenterOptions {
    VitOptions vit;
    Normalisation normalisation;
    int64_t classes = 11;
    std::string decoder = "mask";  ///< mask (Mask Transformer), linear, or boxes (a detector)
    int64_t decoderDepth = 2;

    /// Returns the sizes of a backbone ("vit-tiny/16"). The caller must set height, width and classes.
    static SegmenterOptions variant(const std::string& name);

    std::string toJson() const;
    static SegmenterOptions fromJson(const std::string& text);  ///< throws FileError

    bool detects() const { return decoder == "boxes"; }
};

class SegmenterImpl : public torch::nn::Module {
public:
    explicit SegmenterImpl(const SegmenterOptions& options);

    /// Maps images [B, 3, H, W] to masks [B, classes, H/patch, W/patch].
    torch::Tensor masks(const torch::Tensor& images, TokenTaps* taps = nullptr);

    /// Maps images [B, 3, H, W] to logits [B, classes, H, W]: masks, enlarged bilinearly.
    torch::Tensor forward(const torch::Tensor& images);

    struct Boxes {
        torch::Tensor boxes;   ///< [B, H/patch * W/patch, 4], centre, width and height as shares of the image
        torch::Tensor scores;  ///< [B, H/patch * W/patch, classes], logits
    };
    /// Returns the boxes of a detector. In evaluation mode, joins the boxes with joinNeighbours().
    Boxes boxes(const torch::Tensor& images);

    /// Sets sharing: the four patches of a superpatch share a token if the policy's score of the superpatch
    /// is among the `shared` highest. nullptr: no sharing. parameters() does not include the policy's
    /// weights.
    void setSharing(std::shared_ptr<Sharing> sharing);
    /// Returns the token of each patch, int64 [B, N], in the previous call to forward() in evaluation mode;
    /// undefined without sharing.
    const torch::Tensor& sharedMap() const { return m_sharedMap; }

    const SegmenterOptions& options() const { return m_options; }
    VisionTransformer encoder{nullptr};
    std::shared_ptr<DecoderImpl> decoder;

private:
    torch::Tensor sharedScores(const torch::Tensor& images);

    SegmenterOptions m_options;
    std::shared_ptr<Sharing> m_sharing;
    torch::Tensor m_sharedMap;
};
TORCH_MODULE(Segmenter);

/// Resizes bilinearly, to any size.
torch::Tensor enlarge(const torch::Tensor& masks, int64_t height, int64_t width);

/// Replaces each box with the mean of the boxes of the 3x3 patches around it. The weight of a box is the sum
/// of the cubes of its class probabilities, plus kLeastWeight. Lowers each score by kPeak times the
/// difference from the largest score of the class in these patches, so that only one of the patches that find
/// the same object has a high score.
SegmenterImpl::Boxes joinNeighbours(const SegmenterImpl::Boxes& found, int64_t rows, int64_t columns);
constexpr double kPeak = 100, kLeastWeight = 1e-6;

/// Returns x and y of the centre of each patch, in patches: [rows * columns, 2].
torch::Tensor patchCentres(int64_t rows, int64_t columns);

/// Converts CV_8UC3 BGR to a normalised RGB tensor [3, H, W].
torch::Tensor toTensor(const cv::Mat& image, const Normalisation& normalisation = {});

/// Sets clamped normal weights, zero biases, sine-cosine positions, and attention that resembles trained
/// attention. The product of query and key weights is near the identity, so that tokens attend to similar and
/// near tokens. The product of value and projection weights is near the negative identity. Such attention
/// helps most if the data set is small ("Mimetic initialization", Trockman and Kolter 2023).
void initialise(Segmenter& model);

/// Sets patch filters to the principal components of the images' patches, partly whitened, so that an
/// untrained model already keeps the components that vary most. Images must be CV_8UC3 BGR.
void initialisePatchFilters(Segmenter& model, const std::vector<cv::Mat>& images, uint64_t seed);

}  // namespace mpm::models

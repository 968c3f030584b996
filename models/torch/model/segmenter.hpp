// Segmenter: a vision transformer and a mask decoder.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/utils.h>
#include <opencv2/core.hpp>

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

/// Mean and deviation of images: RGB, values of 0..1.
struct Normalisation {
    std::array<double, 3> mean{0.5, 0.5, 0.5}, deviation{0.5, 0.5, 0.5};

    bool operator==(const Normalisation& other) const {
        return mean == other.mean && deviation == other.deviation;
    }

    /// vit (0.5 throughout) or deit (those of ImageNet), as Segmenter names them.
    static Normalisation named(const std::string& name);
};

struct Sharing;

struct SegmenterOptions {
    VitOptions vit;
    Normalisation normalisation;
    int64_t classes = 11;
    std::string decoder = "mask";  ///< mask (Mask Transformer) or linear
    int64_t decoderDepth = 2;

    /// "vit-tiny/16", "vit-small/8", ...: sizes of the backbone. The caller sets height, width and classes.
    static SegmenterOptions variant(const std::string& name);

    std::string toJson() const;
    static SegmenterOptions fromJson(const std::string& text);  ///< throws FileError
};

class SegmenterImpl : public torch::nn::Module {
public:
    explicit SegmenterImpl(const SegmenterOptions& options);

    /// images [B, 3, H, W] -> masks [B, classes, H/patch, W/patch]
    torch::Tensor masks(const torch::Tensor& images, TokenTaps* taps = nullptr);

    /// images [B, 3, H, W] -> logits [B, classes, H, W], masks enlarged bilinearly
    torch::Tensor forward(const torch::Tensor& images);

    /// From now on, the superpatches with the highest scores of the policy share. Not a parameter of the
    /// model; nullptr: none share.
    void setSharing(std::shared_ptr<Sharing> sharing);
    /// int64 [B, N]: the token of each patch in the last forward outside of training; undefined if none
    /// share.
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

torch::Tensor enlarge(const torch::Tensor& masks, int64_t height, int64_t width);

/// CV_8UC3 BGR -> [3, H, W], RGB, normalised.
torch::Tensor toTensor(const cv::Mat& image, const Normalisation& normalisation = {});

/// Truncated normal weights, zero biases, sine-cosine positions, and attention that resembles trained
/// attention: query and key agree (tokens attend to similar and near tokens), value and projection oppose the
/// residual. Small data sets gain most from the latter ("Mimetic initialization", Trockman and Kolter 2023).
void initialise(Segmenter& model);

/// Patch filters from the principal components of the images' patches, softly whitened: unlike random
/// filters, the projection keeps the important components from the start. Images are CV_8UC3 BGR.
void initialisePatchFilters(Segmenter& model, const std::vector<cv::Mat>& images, uint64_t seed);

}  // namespace mpm::models

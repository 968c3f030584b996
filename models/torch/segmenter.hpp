// Segmenter: a vision transformer and a mask decoder.
#pragma once

#include <memory>
#include <string>

#include "models/torch/decoder.hpp"
#include "models/torch/vit.hpp"

namespace mpm::models {

struct SegmenterOptions {
    VitOptions vit;
    int64_t classes = 11;
    std::string decoder = "mask";  ///< mask (Mask Transformer) or linear
    int64_t decoderDepth = 2;

    /// "vit-tiny/16", "vit-small/8", ...: sizes of the backbone; height, width and classes are the caller's.
    static SegmenterOptions variant(const std::string& name);

    std::string toJson() const;
    static SegmenterOptions fromJson(const std::string& text);
};

class SegmenterImpl : public torch::nn::Module {
public:
    explicit SegmenterImpl(const SegmenterOptions& options);

    /// pictures [B, 3, H, W] -> masks [B, classes, H/patch, W/patch]
    torch::Tensor masks(const torch::Tensor& pictures);

    /// pictures [B, 3, H, W] -> logits [B, classes, H, W], masks enlarged bilinearly
    torch::Tensor forward(const torch::Tensor& pictures);

    const SegmenterOptions& options() const { return m_options; }
    VisionTransformer encoder{nullptr};
    std::shared_ptr<DecoderImpl> decoder;

private:
    SegmenterOptions m_options;
};
TORCH_MODULE(Segmenter);

torch::Tensor enlarge(const torch::Tensor& masks, int64_t height, int64_t width);

}  // namespace mpm::models

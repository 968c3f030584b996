#include "models/torch/segmenter.hpp"

#include <nlohmann/json.hpp>

namespace F = torch::nn::functional;

namespace mpm::models {

SegmenterOptions SegmenterOptions::variant(const std::string& name) {
    const auto slash = name.find('/');
    const std::string size = name.substr(0, slash),
                      patch = slash == std::string::npos ? "16" : name.substr(slash + 1);
    TORCH_CHECK(patch == "16" || patch == "8", "variant ", name, ": the patch must be 16 or 8");
    SegmenterOptions options;
    options.vit.patch = std::stoi(patch);
    struct Size {
        const char* name;
        int64_t dim, depth, heads;
    };
    for (const Size& known : {Size{"vit-tiny", 192, 12, 3}, Size{"vit-small", 384, 12, 6},
                              Size{"vit-base", 768, 12, 12}, Size{"vit-large", 1024, 24, 16}}) {
        if (size != known.name) continue;
        options.vit.dim = known.dim;
        options.vit.depth = known.depth;
        options.vit.heads = known.heads;
        return options;
    }
    TORCH_CHECK(false, "variant ", name,
                ": expected vit-tiny, vit-small, vit-base or vit-large, then /16 or /8");
}

Normalisation Normalisation::named(const std::string& name) {
    if (name == "vit") return {};
    TORCH_CHECK(name == "deit", "normalisation ", name, ": expected vit or deit");
    return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
}

std::string SegmenterOptions::toJson() const {
    return nlohmann::json{{"height", vit.height},
                          {"width", vit.width},
                          {"patch", vit.patch},
                          {"dim", vit.dim},
                          {"depth", vit.depth},
                          {"heads", vit.heads},
                          {"drop_path", vit.dropPath},
                          {"distilled", vit.distilled},
                          {"classes", classes},
                          {"decoder", decoder},
                          {"decoder_depth", decoderDepth},
                          {"mean", normalisation.mean},
                          {"std", normalisation.deviation}}
        .dump();
}

SegmenterOptions SegmenterOptions::fromJson(const std::string& text) {
    const auto json = nlohmann::json::parse(text);
    SegmenterOptions options;
    options.vit.height = json.at("height");
    options.vit.width = json.at("width");
    options.vit.patch = json.at("patch");
    options.vit.dim = json.at("dim");
    options.vit.depth = json.at("depth");
    options.vit.heads = json.at("heads");
    options.vit.dropPath = json.at("drop_path");
    options.vit.distilled = json.at("distilled");
    options.classes = json.at("classes");
    options.decoder = json.at("decoder");
    options.decoderDepth = json.at("decoder_depth");
    const Normalisation usual;  // what files of before this had a name for it were made with
    options.normalisation.mean = json.value("mean", usual.mean);
    options.normalisation.deviation = json.value("std", usual.deviation);
    return options;
}

SegmenterImpl::SegmenterImpl(const SegmenterOptions& options) : m_options(options) {
    const auto& vit = options.vit;
    encoder = register_module("encoder", VisionTransformer(vit));
    if (options.decoder == "mask") {
        // Segmenter gives every decoder head 64 dimensions, as the encoder has them.
        decoder = std::make_shared<MaskTransformerImpl>(
            options.classes, vit.dim, vit.dim, options.decoderDepth, std::max<int64_t>(1, vit.dim / 64), 0.0);
    } else {
        TORCH_CHECK(options.decoder == "linear", "decoder ", options.decoder, ": expected mask or linear");
        decoder = std::make_shared<LinearDecoderImpl>(options.classes, vit.dim);
    }
    register_module("decoder", std::static_pointer_cast<torch::nn::Module>(decoder));
}

torch::Tensor SegmenterImpl::masks(const torch::Tensor& pictures, TokenTaps* taps) {
    const auto special = m_options.vit.specialTokens();
    const auto tokens = encoder(pictures, taps);
    return decoder->forward(tokens.narrow(1, special, tokens.size(1) - special),
                            pictures.size(2) / m_options.vit.patch);
}

torch::Tensor SegmenterImpl::forward(const torch::Tensor& pictures) {
    return enlarge(masks(pictures), pictures.size(2), pictures.size(3));
}

torch::Tensor enlarge(const torch::Tensor& masks, int64_t height, int64_t width) {
    return F::interpolate(masks, F::InterpolateFuncOptions()
                                     .size(std::vector<int64_t>{height, width})
                                     .mode(torch::kBilinear)
                                     .align_corners(false));
}

}  // namespace mpm::models

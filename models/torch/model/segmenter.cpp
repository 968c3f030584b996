#include "models/torch/model/segmenter.hpp"

#include <torch/nn/functional/upsampling.h>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "models/torch/files/file_error.hpp"
#include "models/torch/model/policy.hpp"

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

static int64_t wholeAt(const nlohmann::json& json, const char* key) {
    demand(json.at(key).is_number_integer(), "the model's ", key, " must be a whole number");
    return json.at(key).get<int64_t>();
}

static SegmenterOptions optionsFrom(const nlohmann::json& json) {
    SegmenterOptions options;
    options.vit.height = wholeAt(json, "height");
    options.vit.width = wholeAt(json, "width");
    options.vit.patch = wholeAt(json, "patch");
    options.vit.dim = wholeAt(json, "dim");
    options.vit.depth = wholeAt(json, "depth");
    options.vit.heads = wholeAt(json, "heads");
    options.vit.dropPath = json.at("drop_path");
    options.vit.distilled = json.at("distilled");
    options.classes = wholeAt(json, "classes");
    options.decoder = json.at("decoder");
    options.decoderDepth = wholeAt(json, "decoder_depth");
    const Normalisation usual;  // for files of earlier versions, which lack these keys
    options.normalisation.mean = json.value("mean", usual.mean);
    options.normalisation.deviation = json.value("std", usual.deviation);
    return options;
}

/// Throws FileError if a size is out of range. The limits are above the sizes of all known models, and low
/// enough that products of sizes cannot overflow 64 bits.
static void checkSizes(const SegmenterOptions& options) {
    const auto within = [](const char* name, int64_t value, int64_t least, int64_t most) {
        demand(value >= least && value <= most, "the model's ", name, " is ", value, ", expected ", least,
               " to ", most);
    };
    const auto& vit = options.vit;
    within("patch", vit.patch, 1, 64);
    within("height", vit.height, vit.patch, 32768);
    within("width", vit.width, vit.patch, 32768);
    within("dim", vit.dim, 1, 8192);
    within("depth", vit.depth, 1, 256);
    within("heads", vit.heads, 1, vit.dim);
    within("classes", options.classes, 1, 65535);
    within("decoder_depth", options.decoderDepth, 0, 256);
    demand(vit.dim % vit.heads == 0, "the model's dim is no multiple of its heads");
    demand(vit.dropPath >= 0 && vit.dropPath <= 1, "the model's drop_path is outside 0 to 1");
    demand(options.decoder == "mask" || options.decoder == "linear" || options.detects(),
           "the model's decoder is unknown: ", nameOf(options.decoder));
}

SegmenterOptions SegmenterOptions::fromJson(const std::string& text) {
    constexpr size_t kLongest = 65536;
    try {
        const auto flat = [](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
            demand(depth <= 2, "the model's sizes are nested too deeply");
            return true;
        };
        demand(text.size() <= kLongest, "the model's sizes are longer than allowed");
        const auto options = optionsFrom(nlohmann::json::parse(text, flat, false));
        checkSizes(options);
        return options;
    } catch (const nlohmann::json::exception&) {
        throw FileError("the model's sizes cannot be read");
    }
}

SegmenterImpl::SegmenterImpl(const SegmenterOptions& options) : m_options(options) {
    const auto& vit = options.vit;
    encoder = register_module("encoder", VisionTransformer(vit));
    if (options.decoder == "mask") {
        decoder = std::make_shared<MaskTransformerImpl>(options.classes, vit.dim, options.decoderDepth);
    } else if (options.detects()) {
        decoder = std::make_shared<BoxDecoderImpl>(options.classes, vit.dim);
    } else {
        TORCH_CHECK(options.decoder == "linear", "decoder ", options.decoder,
                    ": expected mask, linear or boxes");
        decoder = std::make_shared<LinearDecoderImpl>(options.classes, vit.dim);
    }
    register_module("decoder", std::static_pointer_cast<torch::nn::Module>(decoder));
}

torch::Tensor SegmenterImpl::masks(const torch::Tensor& images, TokenTaps* taps) {
    TORCH_CHECK(!m_options.detects(), "the model finds boxes, not masks");
    if (!is_training()) m_sharedMap = torch::Tensor();
    const auto special = m_options.vit.specialTokens();
    const auto scores = m_sharing && m_sharing->shared > 0
                            ? sharedScores(images)
                            : decoder->forward(encoder(images, taps).slice(1, special));
    return scores.transpose(1, 2).reshape(
        {scores.size(0), scores.size(2), images.size(2) / m_options.vit.patch, -1});
}

void SegmenterImpl::setSharing(std::shared_ptr<Sharing> sharing) {
    const auto& vit = m_options.vit;
    TORCH_CHECK(!sharing || (2 * vit.patch == kSuperpatch && vit.height % kSuperpatch == 0 &&
                             vit.width % kSuperpatch == 0),
                "sharing needs patches of 16x16 and a size of multiples of 32");
    TORCH_CHECK(!sharing || sharing->policy->normalisation() == m_options.normalisation,
                "the policy was trained with another normalisation than the model; train it with the model's "
                "--normalisation");
    m_sharing = std::move(sharing);
}

/// Returns the class scores of each patch. If patches share a token, encoder and decoder compute the token
/// once, and each of these patches gets the token's scores.
torch::Tensor SegmenterImpl::sharedScores(const torch::Tensor& images) {
    const auto& vit = m_options.vit;
    const auto logits = [&] {
        const torch::NoGradGuard constant;
        return m_sharing->policy(images);
    }();
    const auto scores = (logits.select(1, 1) - logits.select(1, 0)).flatten(1);
    const auto count = m_sharing->countOn(scores.size(1), vit.patches() / 4);
    const auto shared =
        shareTokens(highestScores(scores, count), images.size(2) / vit.patch, images.size(3) / vit.patch);
    if (!is_training()) m_sharedMap = shared.map;
    const auto rows = decoder->forward(encoder->forwardShared(images, shared).slice(1, vit.specialTokens()));
    return rows.gather(1, shared.map.unsqueeze(2).expand({-1, -1, rows.size(2)}));
}

torch::Tensor SegmenterImpl::forward(const torch::Tensor& images) {
    return enlarge(masks(images), images.size(2), images.size(3));
}

SegmenterImpl::Boxes SegmenterImpl::boxes(const torch::Tensor& images) {
    TORCH_CHECK(m_options.detects(), "the model finds masks, not boxes");
    const auto rows = decoder->forward(encoder(images).slice(1, m_options.vit.specialTokens()));
    const auto height = images.size(2) / m_options.vit.patch, width = images.size(3) / m_options.vit.patch;
    const auto classes = m_options.classes;
    const auto grid = torch::tensor({double(width), double(height)}, rows.options());
    const auto centres = (rows.slice(2, classes, classes + 2) + patchCentres(height, width).to(rows)) / grid;
    const auto scores = rows.slice(2, 0, classes);
    const Boxes found{torch::cat({centres, rows.slice(2, classes + 2).exp() / grid}, 2), scores};
    return is_training() ? found : joinNeighbours(found, height, width);
}

SegmenterImpl::Boxes joinNeighbours(const SegmenterImpl::Boxes& found, int64_t rows, int64_t columns) {
    const auto gridOf = [&](const torch::Tensor& x) {
        return x.transpose(1, 2).reshape({x.size(0), x.size(2), rows, columns});
    };
    const auto sum = [](const torch::Tensor& x) {
        const auto ones = torch::ones({x.size(1), 1, 3, 3}, x.options());
        return torch::conv2d(x, ones, {}, /*stride=*/1, /*padding=*/1, /*dilation=*/1, x.size(1));
    };
    const auto logits = gridOf(found.scores);
    const auto largest = F::max_pool2d(logits, F::MaxPool2dFuncOptions(3).stride(1).padding(1));
    const auto scores = (1 + kPeak) * logits - kPeak * largest;
    const auto weight = torch::sigmoid(logits).pow(3).sum(1, true) + kLeastWeight;
    const auto boxes = sum(gridOf(found.boxes) * weight) / sum(weight);
    return {boxes.flatten(2).transpose(1, 2), scores.flatten(2).transpose(1, 2)};
}

torch::Tensor patchCentres(int64_t rows, int64_t columns) {
    const auto x = torch::arange(columns, torch::kFloat32).repeat({rows}),
               y = torch::arange(rows, torch::kFloat32).repeat_interleave(columns);
    return torch::stack({x, y}, 1) + 0.5;
}

torch::Tensor enlarge(const torch::Tensor& masks, int64_t height, int64_t width) {
    return F::interpolate(masks, F::InterpolateFuncOptions()
                                     .size(std::vector<int64_t>{height, width})
                                     .mode(torch::kBilinear)
                                     .align_corners(false));
}

torch::Tensor toTensor(const cv::Mat& image, const Normalisation& normalisation) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "toTensor: image must be 8-bit BGR");
    cv::Mat rgb;
    cv::cvtColor(image, rgb, cv::COLOR_BGR2RGB);
    const auto bytes = torch::from_blob(rgb.data, {rgb.rows, rgb.cols, 3}, torch::kUInt8);
    const auto byChannel = [](const std::array<double, 3>& values) {
        return torch::tensor({values[0], values[1], values[2]}, torch::kFloat32).mul_(255).reshape({3, 1, 1});
    };
    return bytes.permute({2, 0, 1})
        .to(torch::kFloat32)
        .sub(byChannel(normalisation.mean))
        .div_(byChannel(normalisation.deviation))
        .contiguous();
}

}  // namespace mpm::models

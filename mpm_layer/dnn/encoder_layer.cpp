#include "mpm_layer/dnn/encoder_layer.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/encoder/weight_names.hpp"
#include "mpm_layer/kernels/limits.hpp"

namespace mpm::dnn {
namespace {

constexpr int kLargest = std::numeric_limits<int>::max();

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

Rotary rotaryFrom(const std::string& name) {
    if (name == "interleaved") return Rotary::Interleaved;
    if (name == "half") return Rotary::Halves;
    CV_Error(cv::Error::StsBadArg,
             "mpm: rope '" + printable(name, 80) + "' is not known; expected interleaved or half");
}

bool mergesFrom(const std::string& role) {
    if (role == "backbone") return true;
    if (role == "decoder") return false;
    CV_Error(cv::Error::StsBadArg,
             "mpm: role '" + printable(role, 80) + "' is not known; expected backbone or decoder");
}

bool hasFinalNorm(const std::vector<std::string>& names) {
    const auto is = [](const std::string& n) { return n == "norm.weight" || n == "norm.bias"; };
    return std::any_of(names.begin(), names.end(), is);
}

size_t firstWeight(const std::vector<std::string>& names) {
    return names.size() > 1 && names[1] == "key_bias" ? 2 : 1;
}

cv::Size gridFrom(const cv::dnn::LayerParams& params) {
    if (!params.has("grid")) return {};
    const std::vector<int> grid = wholeAttributes(params, "grid", 1, kLargest);
    if (grid.size() != 2) rejectAttribute(params, "grid", "two positive numbers, rows and columns");
    checkShape(grid, "mpm: MpmEncoder's attribute grid");
    return cv::Size(grid[1], grid[0]);
}

std::vector<std::string> inputNames(const cv::dnn::LayerParams& params) {
    const std::vector<std::string> names = words(textAttribute(params, "inputs", ""));
    if (names.empty() || names.front() != "tokens") {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEncoder needs the attribute inputs, the names of its inputs, tokens first");
    }
    return names;
}

EncoderConfig readConfig(const cv::dnn::LayerParams& params, const std::vector<std::string>& names) {
    EncoderConfig config;
    config.blocks = wholeAttribute(params, "blocks", 0, 0, kMostBlocks);
    config.firstBlock = wholeAttribute(params, "first_block", 0, 0, kMostBlocks);
    config.heads = wholeAttribute(params, "heads", 0, 0, kLargest);
    config.dim = wholeAttribute(params, "dim", 0, 0, kLargest);
    config.specialTokens = wholeAttribute(params, "special_tokens", 1, 0, kMostSpecialTokens);
    config.schedule = wholeAttributes(params, "schedule", 0, kLargest);
    config.taps = wholeAttributes(params, "taps", 0, kLargest);
    if (config.taps.empty()) config.taps = {config.lastBlock()};
    config.tapNorm = wholeAttributes(params, "tap_norm", 0, 1);
    if (config.tapNorm.empty()) config.tapNorm.assign(config.taps.size(), hasFinalNorm(names));
    config.epsilon = numberAttribute(params, "epsilon", 1e-6f, 0);
    config.innerEpsilon = numberAttribute(params, "inner_epsilon", config.epsilon, 0);
    config.finalEpsilon = numberAttribute(params, "final_epsilon", config.epsilon, 0);
    config.activation = activationFrom(textAttribute(params, "activation", "gelu"));
    config.scale = numberAttribute(params, "scale", 0, -std::numeric_limits<float>::infinity());
    config.rotary = rotaryFrom(textAttribute(params, "rope", "interleaved"));
    config.merges = mergesFrom(textAttribute(params, "role", "backbone"));
    config.grid = gridFrom(params);
    checkConfig(config);
    checkWeightNames({names.begin() + firstWeight(names), names.end()}, config);
    return config;
}

}  // namespace

EncoderLayer::EncoderLayer(const cv::dnn::LayerParams& params)
    : PortableLayer(params),
      m_names(inputNames(params)),
      m_control(std::make_shared<EncoderControl>(readConfig(params, m_names))),
      m_runner(std::make_shared<EncoderRunner>(m_control)) {
    m_control->setRunner(m_runner);
}

cv::Ptr<cv::dnn::Layer> EncoderLayer::create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new EncoderLayer(params));
}

std::vector<Shape> EncoderLayer::outputShapes(const std::vector<Shape>& in) const {
    if (in.empty())
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEncoder's tokens are a constant; nothing depends on the input");
    if (in[0].size() != 3) {
        CV_Error(
            cv::Error::StsBadArg,
            "mpm: MpmEncoder's tokens must be [batch, special + image tokens, dim], got " + textOf(in[0]));
    }
    return std::vector<Shape>(m_control->config().taps.size(), in[0]);
}

int64 EncoderLayer::getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>&) const {
    // Products of all tokens: 2 multiply-adds for every weight and token, and the two of attention.
    if (in.empty() || in[0].size() != 3) return 0;
    const auto tokens = checkedProduct<int64>(in[0][0], in[0][1]);
    int64 weights = 0;
    for (const cv::Mat& blob : blobs) {
        if (blob.dims != 2 || std::min(blob.size[0], blob.size[1]) == 1) continue;
        weights = checkedSum<int64>(weights, blob.total());
    }
    return checkedSum<int64>(
        checkedProduct<int64>(2, tokens, weights),
        checkedProduct<int64>(4, tokens, in[0][1], in[0][2], m_control->config().blocks));
}

void EncoderLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    if (in.size() + blobs.size() != m_names.size()) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder names %d inputs but has %d; weights are missing or named twice",
                            static_cast<int>(m_names.size()), static_cast<int>(in.size() + blobs.size())));
    }
    // OpenCV 4.x keeps constants in `blobs`, the 5.x engine among the inputs.
    const auto value = [&](size_t i) { return i < in.size() ? in[i] : blobs[i - in.size()]; };
    const size_t first = firstWeight(m_names);
    if (!m_runner->hasWeights()) {
        NamedWeights weights;
        for (size_t i = first; i < m_names.size(); ++i)
            weights.add(m_names[i], value(i));
        m_runner->setWeights(std::move(weights));
    }
    m_runner->run(in[0], first == 2 ? value(1) : cv::Mat(), out);
}

}  // namespace mpm::dnn

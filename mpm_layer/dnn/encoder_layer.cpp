#include "mpm_layer/dnn/encoder_layer.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/dnn/small_layer.hpp"
#include "mpm_layer/encoder/config.hpp"
#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/kernels/common/limits.hpp"

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

cv::Size sizeFrom(const cv::dnn::LayerParams& params, const char* name) {
    if (!params.has(name)) return {};
    const std::vector<int> size = wholeAttributes(params, name, 1, kLargest);
    if (size.size() != 2) rejectAttribute(params, name, "two positive numbers, rows and columns");
    checkShape(size, std::string("mpm: MpmEncoder's attribute ") + name);
    return cv::Size(size[1], size[0]);
}

EncoderInputs readInputs(const cv::dnn::LayerParams& params) {
    EncoderInputs inputs;
    inputs.names = words(textAttribute(params, "inputs", ""));
    if (inputs.names.empty() || inputs.names.front() != "tokens") {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEncoder needs the attribute inputs, the names of its inputs, tokens first");
    }
    for (; inputs.firstWeight < inputs.names.size(); ++inputs.firstWeight) {
        const std::string& name = inputs.names[inputs.firstWeight];
        size_t& place = name == "map" ? inputs.map : inputs.keyBias;
        if ((name != "map" && name != "key_bias") || place != 0) break;
        place = inputs.firstWeight;
    }
    return inputs;
}

void readChain(const cv::dnn::LayerParams& params, EncoderConfig& config) {
    if (!config.merges) return;  // a decoder is never in a chain
    config.chain = textAttribute(params, "chain", "");
    if (params.has("chain_blocks"))
        config.chainBlocks = wholeAttribute(params, "chain_blocks", 0, 1, kMostBlocks + 1);
}

EncoderConfig readConfig(const cv::dnn::LayerParams& params, const EncoderInputs& inputs) {
    const std::vector<std::string>& names = inputs.names;
    EncoderConfig config;
    config.blocks = wholeAttribute(params, "blocks", 0, 0, kMostBlocks);
    config.firstBlock = wholeAttribute(params, "first_block", 0, 0, kMostBlocks);
    config.heads = wholeAttribute(params, "heads", 0, 0, kLargest);
    config.dim = wholeAttribute(params, "dim", 0, 0, kLargest);
    config.specialTokens = wholeAttribute(params, "special_tokens", 1, 0, kMostSpecialTokens);
    config.trailingTokens = wholeAttribute(params, "trailing_tokens", 0, 0, kMostSpecialTokens);
    config.takesMap = inputs.map != 0;
    config.mapOutput = switchAttribute(params, "map_output");
    config.schedule = wholeAttributes(params, "schedule", 0, kLargest);
    config.taps = wholeAttributes(params, "taps", 0, kLargest);
    if (config.taps.empty()) config.taps = {config.lastBlock()};
    config.tapNorm = wholeAttributes(params, "tap_norm", 0, 1);
    if (config.tapNorm.empty()) config.tapNorm.assign(config.taps.size(), hasFinalNorm(names));
    config.norm = normAttributes(params, "", {});
    config.innerNorm = normAttributes(params, "inner_", config.norm);
    config.finalNorm = normAttributes(params, "final_", config.norm);
    config.activation = activationFrom(textAttribute(params, "activation", "gelu"));
    config.parallel = switchAttribute(params, "parallel");
    config.scale = numberAttribute(params, "scale", 0, -std::numeric_limits<float>::infinity());
    config.rotary = rotaryFrom(textAttribute(params, "rope", "interleaved"));
    config.merges = mergesFrom(textAttribute(params, "role", "backbone"));
    config.grid = sizeFrom(params, "grid");
    config.window = sizeFrom(params, "window");
    config.padding = switchAttribute(params, "padding");
    config.globalBlocks = wholeAttributes(params, "global_blocks", 0, kMostBlocks);
    if (config.merges) config.method = methodFrom(textAttribute(params, "method", "mpm"));
    config.int8 = wholeAttribute(params, "int8", 1, 0, 1) == 1;
    config.int8From = wholeAttribute(params, "int8_from", 0, 0, kMostBlocks);
    readChain(params, config);
    checkConfig(config);
    checkWeightNames({names.begin() + inputs.firstWeight, names.end()}, config);
    return config;
}

}  // namespace

EncoderLayer::EncoderLayer(const cv::dnn::LayerParams& params)
    : PortableLayer(params),
      m_inputs(readInputs(params)),
      m_config(readConfig(params, m_inputs)),
      m_control(network()->join(m_config)),
      m_runner(std::make_shared<EncoderRunner>(m_control, m_config, network())) {
    if (!m_config.continues()) m_control->setRunner(m_runner);
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
    std::vector<Shape> shapes(m_config.taps.size(), in[0]);
    if (m_config.mapOutput) shapes.push_back(toShape({in[0][0], imageTokens(in[0][1])}));
    return shapes;
}

int EncoderLayer::imageTokens(int rows) const {
    return std::max(0, rows - m_config.specialRows() - m_config.trailingTokens);
}

int EncoderLayer::outputType(int index) const {
    return index < static_cast<int>(m_config.taps.size()) ? CV_32F : kInteger;
}

int64 EncoderLayer::getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>&) const {
    // Counts the products of all tokens, without merging: 2 operations for each weight and token, and the two
    // products of attention.
    if (in.empty() || in[0].size() != 3) return 0;
    const auto tokens = checkedProduct<int64>(in[0][0], in[0][1]);
    int64 weights = 0;
    for (const cv::Mat& blob : blobs) {
        if (blob.dims != 2 || std::min(blob.size[0], blob.size[1]) == 1) continue;
        weights = checkedSum<int64>(weights, blob.total());
    }
    return checkedSum<int64>(checkedProduct<int64>(2, tokens, weights),
                             checkedProduct<int64>(4, tokens, in[0][1], in[0][2], m_config.blocks));
}

std::vector<MergeMap> EncoderLayer::readMaps(const cv::Mat& given, const cv::Mat& tokens) const {
    if (tokens.dims != 3) return {};  // the runner rejects such tokens
    const int images = tokens.size[0], count = imageTokens(tokens.size[1]);
    if (given.dims != 2 || given.size[0] != images || given.size[1] != count) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder's map must be [batch, image tokens], here [%d, %d], got %s",
                            images, count, textOf(shapeOf(given)).c_str()));
    }
    std::vector<int> ids = readIntegers(given, "MpmEncoder's map");
    std::vector<MergeMap> maps;
    for (int i = 0; i < images; ++i) {
        const cv::Mat row(1, count, CV_32S, ids.data() + static_cast<size_t>(i) * count);
        maps.push_back(toMergeMap(row, cv::format("MpmEncoder's map of image %d", i).c_str()));
    }
    return maps;
}

void EncoderLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const std::vector<std::string>& names = m_inputs.names;
    if (in.size() + blobs.size() != names.size()) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder names %d inputs but has %d; weights are missing or named twice",
                            static_cast<int>(names.size()), static_cast<int>(in.size() + blobs.size())));
    }
    // OpenCV 4.x keeps constants in `blobs`; the new engine of 5.x passes constants as inputs.
    const auto value = [&](size_t i) { return i < in.size() ? in[i] : blobs[i - in.size()]; };
    if (!m_runner->hasWeights()) {
        NamedWeights weights;
        for (size_t i = m_inputs.firstWeight; i < names.size(); ++i)
            weights.add(names[i], value(i));
        m_runner->setWeights(std::move(weights));
    }
    SessionInput input;
    input.tokens = in[0];
    if (m_inputs.keyBias != 0) input.keyBias = value(m_inputs.keyBias);
    if (m_inputs.map != 0) input.maps = readMaps(value(m_inputs.map), in[0]);
    const std::vector<cv::Mat> maps = m_runner->run(input, out);
    m_control->setOutput(out[std::min(out.size(), m_config.taps.size()) - 1]);
    if (!m_config.mapOutput || out.size() <= m_config.taps.size()) return;
    for (size_t i = 0; i < maps.size(); ++i) {
        const int count = static_cast<int>(maps[i].total());
        if (count > 0) writeIntegers(maps[i].ptr<int>(), count, out.back(), i * count);
    }
}

}  // namespace mpm::dnn

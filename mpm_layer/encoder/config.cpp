#include "mpm_layer/encoder/config.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/checked.hpp"
#include "base/printable.hpp"

namespace mpm {
namespace {

std::string shapeText(const cv::Mat& m) {
    std::string text = "[";
    for (int i = 0; i < m.dims; ++i)
        text += (i ? ", " : "") + std::to_string(m.size[i]);
    return text + "]";
}

void checkWithin(const std::vector<int>& blocks, const EncoderConfig& config, const char* what) {
    for (size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i] < config.firstBlock || blocks[i] > config.lastBlock()) {
            CV_Error(cv::Error::StsOutOfRange,
                     cv::format("mpm: %s names block %d; this encoder has blocks %d..%d", what, blocks[i],
                                config.firstBlock, config.lastBlock()));
        }
        if (i > 0 && blocks[i] <= blocks[i - 1]) {
            CV_Error(cv::Error::StsBadArg, cv::format("mpm: %s must be strictly increasing; %d follows %d",
                                                      what, blocks[i], blocks[i - 1]));
        }
    }
}

void checkEpsilon(float value, const char* name) {
    if (!(value >= 0) || std::isinf(value)) {
        CV_Error(cv::Error::StsOutOfRange,
                 std::string("mpm: ") + name + " must be a finite number and not negative");
    }
}

}  // namespace

void checkSchedule(const std::vector<int>& schedule, const EncoderConfig& config, const std::string& origin) {
    checkWithin(schedule, config, ((origin.empty() ? "" : origin + ": ") + "schedule").c_str());
}

int EncoderConfig::windows() const {
    if (!windowed()) return 1;
    const auto along = [](int side, int of) { return side / of + (side % of != 0 ? 1 : 0); };
    return checkedProduct<int>(along(grid.height, window.height), along(grid.width, window.width));
}

int EncoderConfig::specialRows() const {
    return checkedProduct<int>(windows(), specialTokens);
}

bool EncoderConfig::isGlobal(int block) const {
    return !windowed() || std::binary_search(globalBlocks.begin(), globalBlocks.end(), block);
}

EncoderConfig EncoderConfig::ofChain() const {
    EncoderConfig whole = *this;
    if (chainBlocks == 0) return whole;
    whole.firstBlock = 0;
    whole.blocks = chainBlocks;
    return whole;
}

namespace {

void checkChain(const EncoderConfig& config) {
    if (config.chainBlocks == 0 && !config.chain.empty()) {
        CV_Error(cv::Error::StsBadArg, "mpm: a segment of chain '" + printable(config.chain, 80) +
                                           "' needs the attribute chain_blocks, the blocks of the chain");
    }
    if (config.chainBlocks > 0 && config.lastBlock() >= config.chainBlocks) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: a segment has blocks %d..%d, but chain_blocks is %d", config.firstBlock,
                            config.lastBlock(), config.chainBlocks));
    }
}

// Padding needs this limit, because a small input can have large windows, which take a lot of memory.
constexpr int kMostTokensOfPaddedWindow = 16384;

void checkWindows(const EncoderConfig& config) {
    if (!config.windowed()) {
        if (!config.padding && config.globalBlocks.empty()) return;
        CV_Error(cv::Error::StsBadArg, "mpm: padding and global_blocks need the attribute window");
    }
    const cv::Size grid = config.grid, window = config.window;
    if (grid.empty())
        CV_Error(cv::Error::StsBadArg, "mpm: window needs the attribute grid, the tokens of the image");
    if (config.trailingTokens > 0)
        CV_Error(cv::Error::StsBadArg, "mpm: window and trailing_tokens exclude each other");
    const std::string sizes = cv::format("%dx%d", window.height, window.width);
    const bool divides = grid.height % window.height == 0 && grid.width % window.width == 0;
    if (!divides && !config.padding) {
        CV_Error(cv::Error::StsBadArg, "mpm: windows of " + sizes + " do not divide the grid of " +
                                           cv::format("%dx%d", grid.height, grid.width) +
                                           "; the attribute padding fills them up");
    }
    if (!divides && window.area() > kMostTokensOfPaddedWindow) {
        CV_Error(cv::Error::StsOutOfRange, "mpm: padding fills up windows of at most " +
                                               std::to_string(kMostTokensOfPaddedWindow) +
                                               " tokens, not of " + sizes);
    }
    const int64_t across = (int64_t{grid.width} + window.width - 1) / window.width,
                  down = (int64_t{grid.height} + window.height - 1) / window.height;
    const int64_t filled = across * window.width * down * window.height;
    if (filled > 16 * int64_t{grid.area()} + window.area()) {
        CV_Error(cv::Error::StsOutOfRange, "mpm: padding to windows of " + sizes + " makes " +
                                               std::to_string(filled) + " tokens of " +
                                               std::to_string(grid.area()));
    }
    config.specialRows();
    checkWithin(config.globalBlocks, config.ofChain(), "global_blocks");
}

}  // namespace

void checkConfig(const EncoderConfig& config) {
    if (config.blocks < 1)
        CV_Error(cv::Error::StsBadArg, "mpm: MpmEncoder needs the attribute blocks, at least 1");
    if (config.heads < 1)
        CV_Error(cv::Error::StsBadArg, "mpm: MpmEncoder needs the attribute heads, at least 1");
    if (config.specialTokens < 0) CV_Error(cv::Error::StsBadArg, "mpm: special_tokens must not be negative");
    if (config.trailingTokens < 0)
        CV_Error(cv::Error::StsBadArg, "mpm: trailing_tokens must not be negative");
    checkChain(config);
    checkWindows(config);
    if (config.taps.empty()) CV_Error(cv::Error::StsBadArg, "mpm: taps must name at least one block");
    checkWithin(config.taps, config, "taps");
    checkSchedule(config.schedule, config.ofChain());
    if (config.tapNorm.size() != config.taps.size()) {
        CV_Error(cv::Error::StsUnmatchedSizes, "mpm: tap_norm must have one entry for each of taps");
    }
    checkEpsilon(config.norm.epsilon, "epsilon");
    checkEpsilon(config.innerNorm.epsilon, "inner_epsilon");
    checkEpsilon(config.finalNorm.epsilon, "final_epsilon");
    if (!std::isfinite(config.scale))
        CV_Error(cv::Error::StsOutOfRange, "mpm: scale must be a finite number");
}

kernels::Activation activationFrom(const std::string& name) {
    for (const ActivationEntry& entry : kActivations)
        if (name == entry.name) return entry.activation;
    CV_Error(cv::Error::StsBadArg, "mpm: activation '" + printable(name, 80) +
                                       "' is not known; expected one of " + activationNames());
}

void NamedWeights::add(const std::string& name, const cv::Mat& value) {
    if (value.type() != CV_32F)
        CV_Error(cv::Error::StsBadArg, "mpm: weight " + printable(name, 80) + " must be f32");
    m_values[name] = value.isContinuous() ? value : value.clone();
}

const cv::Mat& NamedWeights::raw(const std::string& name) const {
    const auto found = m_values.find(name);
    if (found == m_values.end())
        CV_Error(cv::Error::StsObjectNotFound, "mpm: weight " + name + " is missing");
    return found->second;
}

std::vector<float> NamedWeights::vector(const std::string& name, int size) const {
    return has(name) ? requiredVector(name, size) : std::vector<float>();
}

std::vector<float> NamedWeights::requiredVector(const std::string& name, int size) const {
    const cv::Mat& value = raw(name);
    if (value.total() != static_cast<size_t>(size)) {
        CV_Error(cv::Error::StsUnmatchedSizes, cv::format("mpm: weight %s has shape %s, expected [%d]",
                                                          name.c_str(), shapeText(value).c_str(), size));
    }
    return std::vector<float>(value.ptr<float>(), value.ptr<float>() + size);
}

cv::Mat NamedWeights::matrix(const std::string& name, int rows, int columns) const {
    const cv::Mat& value = raw(name);
    const bool fits = value.dims == 2 && value.size[0] == rows && (columns == 0 || value.size[1] == columns);
    if (!fits) {
        CV_Error(cv::Error::StsUnmatchedSizes, cv::format("mpm: weight %s has shape %s, expected [%d, %s]",
                                                          name.c_str(), shapeText(value).c_str(), rows,
                                                          columns ? std::to_string(columns).c_str() : "any"));
    }
    return value;
}

namespace {

const std::set<std::string>& blockNames() {
    static const std::set<std::string> kNames = {
        "norm1.weight",     "norm1.bias",     "qkv.weight",  "qkv.bias",    "q_norm.weight",
        "q_norm.bias",      "k_norm.weight",  "k_norm.bias", "proj.weight", "proj.bias",
        "attn_norm.weight", "attn_norm.bias", "ls1",         "ls2",         "norm2.weight",
        "norm2.bias",       "fc1.weight",     "fc1.bias",    "gate.weight", "gate.bias",
        "mlp_norm.weight",  "mlp_norm.bias",  "fc2.weight",  "fc2.bias",    "rope.cos",
        "rope.sin"};
    return kNames;
}

bool ofAllBlocks(const std::string& name) {
    return name == "norm.weight" || name == "norm.bias" || name == "rope.cos" || name == "rope.sin";
}

// Returns whether the name belongs to a weight of a block ("12.fc1.bias"). Numbers: no leading zeros.
bool ofOneBlock(const std::string& name, const EncoderConfig& config) {
    const size_t dot = name.find('.');
    const std::string digits = name.substr(0, dot);
    if (dot == std::string::npos || digits.empty() || digits.size() > 6) return false;
    if (digits.find_first_not_of("0123456789") != std::string::npos) return false;
    const int block = std::stoi(digits);
    return std::to_string(block) == digits && block >= config.firstBlock && block <= config.lastBlock() &&
           blockNames().count(name.substr(dot + 1)) != 0;
}

void require(const std::set<std::string>& given, const std::string& name, const std::string& why = "") {
    if (given.count(name) != 0) return;
    CV_Error(cv::Error::StsObjectNotFound, "mpm: weight " + name + " is missing" + why);
}

// Throws if a weight is present, but another weight that it needs is missing.
void requirePairs(const std::set<std::string>& given, const std::string& prefix) {
    const auto pair = [&](const char* one, const char* other) {
        if (given.count(prefix + one) != 0) require(given, prefix + other, "; " + prefix + one + " needs it");
    };
    pair("rope.cos", "rope.sin");
    pair("rope.sin", "rope.cos");
    pair("gate.bias", "gate.weight");
    for (const char* norm : {"q_norm", "k_norm", "attn_norm", "mlp_norm", "norm"})
        pair((std::string(norm) + ".bias").c_str(), (std::string(norm) + ".weight").c_str());
}

}  // namespace

void checkWeightNames(const std::vector<std::string>& names, const EncoderConfig& config) {
    std::set<std::string> given;
    for (const std::string& name : names) {
        if (!ofAllBlocks(name) && !ofOneBlock(name, config)) {
            CV_Error(cv::Error::StsBadArg,
                     cv::format("mpm: MpmEncoder knows no weight '%s' for its blocks %d..%d",
                                printable(name, 80).c_str(), config.firstBlock, config.lastBlock()));
        }
        if (!given.insert(name).second)
            CV_Error(cv::Error::StsBadArg, "mpm: weight " + name + " is named twice");
    }
    for (int b = config.firstBlock; b <= config.lastBlock(); ++b) {
        const std::string prefix = std::to_string(b) + ".";
        for (const char* name :
             {"norm1.weight", "qkv.weight", "proj.weight", "norm2.weight", "fc1.weight", "fc2.weight"})
            require(given, prefix + name);
        requirePairs(given, prefix);
    }
    requirePairs(given, "");
    for (int normed : config.tapNorm) {
        if (normed) require(given, "norm.weight", "; tap_norm asks for the final norm");
    }
}

}  // namespace mpm

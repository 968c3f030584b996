#include "mpm_layer/encoder/config.hpp"

#include <set>

#include "base/printable.hpp"

namespace mpm {
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

// "12.fc1.bias" of an encoder that has block 12: numbers are written without leading zeros.
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

// Names that need each other.
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

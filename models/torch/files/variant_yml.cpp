#include "models/torch/files/variant_yml.hpp"

#include <yaml-cpp/yaml.h>

#include "models/torch/files/file_error.hpp"

namespace mpm::models {
namespace {

constexpr uintmax_t kLimit = 64 << 10;

int64_t numberAt(const YAML::Node& node, const char* what) {
    if (!node || node.IsNull()) return 0;
    const auto value = node.as<int64_t>();
    demand(value >= 1 && value <= 100000, what, " is ", value, ", expected 1 to 100000");
    return value;
}

/// Reads image_size: a single number for a square image, or height and width.
void readSize(const YAML::Node& node, Variant& variant) {
    if (!node || node.IsNull()) return;
    demand(!node.IsSequence() || node.size() == 2, "image_size must be a number or two");
    variant.height = numberAt(node.IsSequence() ? node[0] : node, "image_size");
    variant.width = numberAt(node.IsSequence() ? node[1] : node, "image_size");
}

Variant fromNode(const YAML::Node& root) {
    demand(root.IsMap() && root["net_kwargs"] && root["net_kwargs"].IsMap(), "net_kwargs is missing");
    const YAML::Node net = root["net_kwargs"];
    Variant variant;
    readSize(net["image_size"], variant);
    variant.patch = numberAt(net["patch_size"], "patch_size");
    variant.dim = numberAt(net["d_model"], "d_model");
    variant.depth = numberAt(net["n_layers"], "n_layers");
    variant.heads = numberAt(net["n_heads"], "n_heads");
    variant.classes = numberAt(net["n_cls"], "n_cls");
    if (net["normalization"]) variant.normalisation = net["normalization"].as<std::string>();
    const YAML::Node data = root["dataset_kwargs"];
    if (data && data.IsMap() && data["dataset"]) variant.dataset = data["dataset"].as<std::string>();
    return variant;
}

}  // namespace

Variant parseVariant(const std::string& text) {
    demand(text.size() <= kLimit, "longer than a variant.yml is");
    try {
        return fromNode(YAML::Load(text));
    } catch (const YAML::Exception& problem) {
        throw FileError(printable(problem.what()));
    }
}

Variant readVariant(const std::string& path) {
    return fromFile(path, kLimit, parseVariant);
}

}  // namespace mpm::models

#include "models/onnx/ir/rewrite.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace mpm::models {
namespace {

// Searches only the first three inputs, because `map` never comes after the third input.
bool takesMap(const Node& encoder) {
    std::istringstream names(encoder.getString("inputs", ""));
    std::string name;
    for (int i = 0; i < 3 && names >> name; ++i)
        if (name == "map") return true;
    return false;
}

// kAttributes lists all attributes that MpmEncoder and MpmLayerNorm have in version 1, which is final. A node
// with any other attribute needs version 2.
bool isOfVersion2(const Node& node) {
    if (node.domain != "mpm") return false;
    if (isOneOf(node.op, {"MpmConvTranspose", "MpmDeformable", "MpmGridSample", "MpmMaskLabels",
                          "MpmMaskedSoftmax", "MpmShare", "MpmTranspose"}))
        return true;
    static const std::map<std::string, std::set<std::string>> kAttributes{
        {"MpmEncoder",
         {"activation", "blocks", "dim", "epsilon", "final_epsilon", "first_block", "grid", "heads",
          "inner_epsilon", "inputs", "role", "rope", "scale", "schedule", "special_tokens", "tap_norm",
          "taps"}},
        {"MpmLayerNorm", {"epsilon"}}};
    const auto known = kAttributes.find(node.op);
    if (known == kAttributes.end()) return false;
    const auto isNew = [&](const auto& attribute) { return known->second.count(attribute.first) == 0; };
    return std::any_of(node.attributes.begin(), node.attributes.end(), isNew) || takesMap(node);
}

bool isOfVersion3(const Node& node) {
    if (node.domain != "mpm") return false;
    if (isOneOf(node.op, {"MpmConv", "MpmTopK", "MpmGatherRows"})) return true;
    if (node.op == "MpmMaskedSoftmax") return node.input(1) == kAbsent;
    if (node.op == "MpmConvTranspose") return node.has("precision") || node.has("kernel");
    if (node.op == "MpmLinear") return node.has("activation") || node.has("precision");
    return node.op == "MpmEncoder" &&
           (node.has("int8") || node.has("int8_from") || node.has("method") || node.has("window"));
}

}  // namespace

int domainVersion(const Graph& graph) {
    const auto has = [&](bool (*isNew)(const Node&)) {
        return std::any_of(graph.nodes.begin(), graph.nodes.end(), isNew);
    };
    return has(isOfVersion3) ? 3 : has(isOfVersion2) ? 2 : 1;
}

}  // namespace mpm::models

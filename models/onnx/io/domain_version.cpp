#include "models/onnx/io/domain_version.hpp"

#include <algorithm>
#include <sstream>

namespace mpm::models {
namespace {

// `map` is among the first names: constants follow it.
bool takesMap(const Node& encoder) {
    std::istringstream names(encoder.getString("inputs", ""));
    std::string name;
    for (int i = 0; i < 3 && names >> name; ++i)
        if (name == "map") return true;
    return false;
}

bool isOfVersion2(const Node& node) {
    if (node.domain != "mpm") return false;
    for (const char* op :
         {"MpmDeformable", "MpmGridSample", "MpmMaskLabels", "MpmMaskedSoftmax", "MpmShare"}) {
        if (node.op == op) return true;
    }
    if (node.op != "MpmEncoder") return false;
    const auto has = [&](const char* name) { return node.has(name); };
    return has("trailing_tokens") || has("map_output") || has("chain") || has("chain_blocks") ||
           takesMap(node);
}

}  // namespace

int domainVersion(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), isOfVersion2) ? 2 : 1;
}

}  // namespace mpm::models

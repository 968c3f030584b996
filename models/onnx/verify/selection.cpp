#include "models/onnx/verify/prove.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

// Returns whether the node moves indices, or computes indices from indices.
bool keepsIndices(const Node& node) {
    return node.isAny({"Unsqueeze", "Squeeze", "Reshape", "Flatten", "Expand", "Tile", "Cast", "Identity",
                       "Concat", "Slice", "Transpose", "Add", "Sub", "Mul", "Div", "Mod", "Floor"});
}

bool choosesPlaces(const Node& node, const List<List<int>>& users) {
    if (!node.is("TopK") || node.outputs.size() < 2 || node.outputs[1] == kAbsent) return false;
    return !users[node.outputs[1]].empty();
}

void addOutput(Graph& graph, int value, const std::string& name, Type type, const Shape& shape = {}) {
    graph.outputs.push_back(Port::of(value, name, type, shape));
}

// Returns the names of a value and of the values that it copies, because a conversion keeps only one of these
// values.
List<std::string> namesOfElements(const Graph& graph, int value) {
    List<std::string> names{graph.values[value].name};
    for (const Node* node = graph.nodeOf(value);
         node && node->isAny({"Cast", "CastLike", "Dropout", "Expand", "Identity", "Reshape"}) &&
         node->input(0) != kAbsent;
         node = graph.nodeOf(node->inputs[0]))
        names.push_back(graph.values[node->inputs[0]].name);
    return names;
}

int valueNamed(const Graph& graph, const std::string& name) {
    for (const Node& node : graph.nodes)
        for (const int out : node.outputs)
            if (out != kAbsent && graph.values[out].name == name) return out;
    return kAbsent;
}

// Returns whether the node is a Cast whose result is an output of the graph. If indices reach an output
// through such a Cast, other nodes read the indices from the input of the Cast.
bool makesOutput(const Graph& graph, const Node* node) {
    return node && node->is("Cast") &&
           std::any_of(graph.outputs.begin(), graph.outputs.end(),
                       [&](const Port& port) { return port.value == node->outputs[0]; });
}

}  // namespace

Selections::Selections(const Graph& original) {
    const List<List<int>> users = original.users();
    for (const Node& node : original.nodes) {
        checkTime();
        if (!choosesPlaces(node, users)) continue;
        Selection found;
        found.name = original.describe(node);
        found.axis = node.getInt("axis", -1);
        found.scores = node.inputs[0];
        found.indices = node.outputs[1];
        found.scoresNames = namesOfElements(original, found.scores);
        found.indicesName = original.values[found.indices].name;
        for (const Port& port : original.outputs)
            if (port.value == found.indices) m_outputs.insert(port.name);
        m_all.push_back(found);
        addPickedFrom(original, found.indices);
    }
}

void Selections::addPickedFrom(const Graph& graph, int indices) {
    std::set<int> reached{indices};
    for (const Node& node : graph.nodes) {
        const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](int in) { return in != kAbsent && reached.count(in) != 0; });
        if (!reads) continue;
        if (keepsIndices(node)) reached.insert(node.outputs.begin(), node.outputs.end());
        const bool picks = node.isAny({"GatherElements", "GatherND", "Gather"}) &&
                           reached.count(node.input(1)) && !graph.isConstant(node.inputs[0]);
        const auto known = [&](const Value& row) { return row.id == node.inputs[0]; };
        if (picks && std::none_of(m_rows.begin(), m_rows.end(), known))
            m_rows.push_back({graph.values[node.inputs[0]].name, node.inputs[0]});
    }
}

Graph Selections::observed(Graph original) const {
    for (size_t k = 0; k < m_all.size(); ++k) {
        addOutput(original, m_all[k].scores, "mpm.scores." + std::to_string(k), Type::Float);
        addOutput(original, m_all[k].indices, "mpm.indices." + std::to_string(k), Type::Int);
    }
    for (size_t k = 0; k < m_rows.size(); ++k)
        addOutput(original, m_rows[k].id, "mpm.rows." + std::to_string(k), Type::Float);
    return original;
}

Graph Selections::imposed(const Graph& converted, const List<Tensor>& added) const {
    Graph result = converted;
    for (size_t k = 0; k < m_all.size(); ++k) {
        int scores = kAbsent;
        for (const std::string& name : m_all[k].scoresNames)
            if (scores == kAbsent) scores = valueNamed(converted, name);
        int indices = valueNamed(converted, m_all[k].indicesName);
        if (const Node* node = converted.nodeOf(indices); makesOutput(converted, node))
            indices = node->inputs[0];
        if (scores == kAbsent || indices == kAbsent)
            throw Refusal("the conversion cannot be proved: the scores of " + m_all[k].name +
                          " are not in the converted model");
        const std::string name = "mpm.imposed." + std::to_string(k);
        Port given = Port::of(result.addValue(name), name, Type::Float, added[2 * k + 1].shape());
        given.hasShape = true;
        for (Node& node : result.nodes)
            if (!makesOutput(converted, &node))
                std::replace(node.inputs.begin(), node.inputs.end(), indices, given.value);
        result.inputs.push_back(given);
        addOutput(result, scores, "mpm.scores." + std::to_string(k), Type::Float, added[2 * k].shape());
        addOutput(result, indices, "mpm.indices." + std::to_string(k), Type::Float, given.dims);
    }
    for (size_t k = 0; k < m_rows.size(); ++k) {
        const int rows = valueNamed(converted, m_rows[k].name);
        if (rows != kAbsent)
            addOutput(result, rows, "mpm.rows." + std::to_string(k), Type::Float,
                      added[2 * m_all.size() + k].shape());
    }
    return result;
}

Choice compareChoices(const Tensor& scores, const Tensor& indices, const Tensor& foundScores,
                      const Tensor& foundIndices, int64_t axis) {
    Choice choice;
    if (axis < 0) axis += scores.rank();
    const bool fits = axis >= 0 && axis < scores.rank() && indices.rank() == scores.rank() &&
                      foundScores.size() == scores.size() && foundIndices.size() == indices.size();
    if (!fits) return {0, false};
    double rounding = 0;
    for (int64_t k = 0; k < scores.size(); ++k)
        rounding = std::max(rounding, std::abs(foundScores.at(k) - scores.at(k)));
    const Shape behind(scores.shape().begin() + axis + 1, scores.shape().end());
    const int64_t places = scores.shape()[axis], picked = indices.shape()[axis], inner = elementCount(behind);
    for (int64_t k = 0; k < indices.size(); ++k) {
        const double own = foundIndices.at(k), given = indices.at(k);
        if (own == given) continue;
        ++choice.different;
        const bool inRange = own >= 0 && own < static_cast<double>(places) && own == std::floor(own);
        const int64_t first = k / (picked * inner) * places * inner + k % inner;
        if (!inRange) {
            choice.right = false;
            continue;
        }
        const double a = foundScores.at(first + static_cast<int64_t>(own) * inner),
                     b = foundScores.at(first + static_cast<int64_t>(given) * inner);
        choice.right &= std::abs(a - b) <= 2 * rounding;
    }
    return choice;
}

}  // namespace mpm::models

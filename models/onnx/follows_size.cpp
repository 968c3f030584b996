// Tests whether an export with a declared image size also works at other sizes.
#include <algorithm>
#include <numeric>
#include <optional>

#include "base/checked.hpp"
#include "models/onnx/bind.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

// Searches for nodes with a constant that fits only the export's size but causes no error at a larger size.
// For example, a Slice up to the export's last token cuts off the additional tokens, and a Resize to the
// export's size restores that size. Compares shapes at the export's size (`own`) and at a larger size
// (`other`).
class SizeComparison {
public:
    SizeComparison(const Graph& graph, const Inferred& own, const Inferred& other)
        : m_graph(graph), m_own(own), m_other(other) {}

    bool isHeld() const {
        return std::any_of(m_graph.nodes.begin(), m_graph.nodes.end(), [this](const Node& node) {
            checkTime();
            if (node.input(0) == kAbsent || m_own.values[node.inputs[0]].known()) return false;
            if (node.is("Resize") || node.is("Upsample")) return resizesToHeld(node);
            if (node.is("Slice")) return cutsToHeld(node);
            return (node.is("Gather") || node.is("GatherND")) && picksHeld(node);
        });
    }

private:
    bool resizesToHeld(const Node& node) const {
        const Shape &ownIn = m_own.values[node.inputs[0]].shape(),
                    &in = m_other.values[node.inputs[0]].shape(),
                    &ownOut = m_own.values[node.outputs[0]].shape(),
                    &out = m_other.values[node.outputs[0]].shape();
        if (ownIn.size() != in.size() || ownOut.size() != in.size() || out.size() != in.size()) return false;
        for (size_t k = 0; k < in.size(); ++k)
            if (ownIn[k] != in[k] && ownOut[k] == out[k]) return true;
        return false;
    }

    bool cutsToHeld(const Node& node) const {
        const int ends = node.input(2);
        if (ends == kAbsent) return listHeld(node, node.getInts("ends"), node.getInts("axes"));
        if (!sameIn(ends)) return false;
        const int axes = node.input(3);
        return listHeld(node, m_own.values[ends].toInts(),
                        axes == kAbsent ? List<int64_t>() : m_own.values[axes].toInts());
    }

    bool listHeld(const Node& node, const List<int64_t>& ends, const List<int64_t>& axes) const {
        for (size_t k = 0; k < ends.size(); ++k)
            if (endsHeld(node.inputs[0], axes.empty() ? static_cast<int64_t>(k) : axes[k], ends[k]))
                return true;
        return false;
    }

    bool picksHeld(const Node& node) const {
        const int at = node.input(1);
        if (at == kAbsent || !sameIn(at)) return false;
        const Tensor& indices = m_own.values[at];
        const bool nd = node.is("GatherND");
        const int64_t depth = nd ? std::max<int64_t>(indices.dim(-1), 1) : 1;
        const int64_t axis = nd ? node.getInt("batch_dims", 0) : node.getInt("axis", 0);
        for (int64_t k = 0; k < indices.size(); ++k)
            if (indices.at(k) >= 0 &&
                endsHeld(node.inputs[0], axis + k % depth, toInteger(indices.at(k)) + 1))
                return true;
        return false;
    }

    bool sameIn(int value) const {
        const Tensor &own = m_own.values[value], &other = m_other.values[value];
        return own.known() && other.known() && own.equals(other);
    }

    // Returns whether `end` is the end of the axis at the export's size, but not at the larger size.
    bool endsHeld(int value, int64_t axis, int64_t end) const {
        const Shape &own = m_own.values[value].shape(), &other = m_other.values[value].shape();
        const auto rank = static_cast<int64_t>(own.size());
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank || own.size() != other.size()) return false;
        return end >= own[axis] && end < other[axis];
    }

    const Graph& m_graph;
    const Inferred& m_own;
    const Inferred& m_other;
};

// Infers all values from the shape of the image; returns nothing if the graph does not work with this shape.
std::optional<Inferred> inferredFor(const Graph& graph, const Shape& image) {
    Inferred inferred = infer(graph, inputsFor(graph, image));
    if (!problemOf(graph, inferred).empty()) return std::nullopt;
    return inferred;
}

}  // namespace

bool followsSize(const Graph& graph, const Binding& binding) {
    const auto conv =
        std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return n.is("Conv"); });
    const Shape& asked = binding.inputs[0].shape();
    Shape own = asked, larger = asked;
    for (size_t k = 2; k < 4; ++k) {
        own[k] = graph.inputs[0].dims[k];
        if (own[k] < 1 || asked[k] < 1) return false;
        // If a convolution cuts patches, the larger size has an additional row and column of patches. A
        // constant that fits the export's size then cannot fit the larger size.
        const List<int64_t> patch = conv == graph.nodes.end() ? List<int64_t>() : conv->getInts("strides");
        const int64_t step =
            patch.size() == 2 && patch[k - 2] > 0 ? patch[k - 2] : std::gcd(own[k], asked[k]);
        larger[k] = checkedSum<int64_t>(std::max(asked[k], own[k]), step);
    }
    try {
        const auto here = inferredFor(graph, own), there = inferredFor(graph, larger);
        return here && there && inferredFor(graph, asked) && !SizeComparison(graph, *here, *there).isHeld();
    } catch (const BudgetError&) {  // a size exceeds the budget
        return false;
    }
}

}  // namespace mpm::models

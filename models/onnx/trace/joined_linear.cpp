#include "models/onnx/trace/trace.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

using Joined = std::optional<JoinedLinear>;

class Joiner {
public:
    Joiner(const Graph& graph, const Inferred& inferred) : m_graph(graph), m_inferred(inferred) {}

    Joined run(int value) {
        constexpr size_t kMost = 256;  // limit of the values to visit
        List<int> open{value};
        std::set<int> seen;
        for (size_t k = 0; k < open.size() && k < kMost; ++k) {
            if (!seen.insert(open[k]).second) continue;
            if (Joined found = of(open[k], 0)) return found;
            const Node* node = m_graph.nodeOf(open[k]);
            if (!node || !canFollow(m_inferred, *node, Follow::Affine)) continue;
            for (int in : node->inputs)
                if (in != kAbsent && !isKnown(in)) open.push_back(in);
        }
        return std::nullopt;
    }

private:
    bool isKnown(int value) const { return m_inferred.values[value].known(); }
    const Shape& shapeOf(int value) const { return m_inferred.values[value].shape(); }

    Joined of(int value, int depth) {
        constexpr int kDeepest = 64;
        const auto known = m_done.find(value);
        if (known != m_done.end()) return known->second;
        checkTime();
        const Node* node = m_graph.nodeOf(value);
        const Shape& shape = shapeOf(value);
        Joined found;
        if (node && depth < kDeepest && !shape.empty() && shape.back() > 0) found = read(*node, depth + 1);
        if (found && found->dense.weight.dim(1) != shape.back()) found.reset();
        if (found) found->value = value;
        m_done[value] = found;
        return found;
    }

    Joined read(const Node& node, int depth) {
        if (isLinear(&node)) return JoinedLinear{kAbsent, ungrouped(node.inputs[0]), denseOf(m_graph, node)};
        if (node.is("Concat")) return join(node, depth);
        if (node.is("Reshape") || node.is("Squeeze") || node.is("Unsqueeze")) {
            return keepsRows(node) ? of(node.inputs[0], depth) : std::nullopt;
        }
        const bool sum = node.is("Add") || node.is("Sub");
        if ((!sum && !node.is("Mul") && !node.is("Div")) || node.inputs.size() != 2) return std::nullopt;
        const bool first = isKnown(node.inputs[0]), second = isKnown(node.inputs[1]);
        if (first || second) return withConstant(node, first, depth);
        return sum ? add(node, depth) : std::nullopt;
    }

    bool keepsRows(const Node& node) const {
        const Shape &before = shapeOf(node.inputs[0]), &after = shapeOf(node.outputs[0]);
        return !before.empty() && !after.empty() && before.back() == after.back();
    }

    // Returns the value that the Reshapes in front of a layer read. Optimisers give each layer a separate
    // Reshape, which would hide that layers read the same value.
    int ungrouped(int value) const {
        for (const Node* node = m_graph.nodeOf(value); node && node->is("Reshape") && keepsRows(*node);
             node = m_graph.nodeOf(value))
            value = node->inputs[0];
        return value;
    }

    Joined join(const Node& node, int depth) {
        const int64_t rank = static_cast<int64_t>(shapeOf(node.outputs[0]).size());
        const int64_t axis = node.getInt("axis", 0);
        if (axis != -1 && axis != rank - 1) return std::nullopt;
        List<JoinedLinear> parts;
        int64_t columns = 0;
        for (int in : node.inputs) {
            const Joined part = of(in, depth);
            if (!part || part->input != (parts.empty() ? part->input : parts[0].input)) return std::nullopt;
            columns += part->dense.weight.dim(1);
            parts.push_back(*part);
        }
        if (parts.empty()) return std::nullopt;
        const int64_t rows = parts[0].dense.weight.dim(0);
        Tensor weight = Tensor::zeros(Type::Float, {rows, columns});
        Tensor bias = Tensor::floats({columns});
        int64_t done = 0;
        for (const JoinedLinear& part : parts) {
            const int64_t width = part.dense.weight.dim(1);
            for (int64_t r = 0; r < rows; ++r)
                std::copy_n(part.dense.weight.f().data() + r * width, width,
                            weight.writeF().data() + r * columns + done);
            if (part.dense.bias.known())
                std::copy_n(part.dense.bias.f().data(), width, bias.writeF().data() + done);
            done += width;
        }
        return JoinedLinear{kAbsent, parts[0].input, {weight, bias}};
    }

    Joined add(const Node& node, int depth) {
        const Joined a = of(node.inputs[0], depth), b = of(node.inputs[1], depth);
        if (!a || !b || a->input != b->input || shapeOf(node.inputs[0]) != shapeOf(node.inputs[1]))
            return std::nullopt;
        const float sign = node.is("Sub") ? -1.f : 1.f;
        Dense sum;
        sum.weight = combined(a->dense.weight, b->dense.weight, sign);
        const Tensor zeros = Tensor::floats({sum.weight.dim(1)});
        sum.bias = combined(a->dense.bias.known() ? a->dense.bias : zeros,
                            b->dense.bias.known() ? b->dense.bias : zeros, sign);
        return JoinedLinear{kAbsent, a->input, sum};
    }

    static Tensor combined(const Tensor& a, const Tensor& b, float sign) {
        Tensor sum = Tensor::zeros(Type::Float, a.shape());
        for (int64_t k = 0; k < sum.size(); ++k)
            sum.writeF()[k] = a.f()[k] + sign * b.f()[k];
        return sum;
    }

    Joined withConstant(const Node& node, bool first, int depth) {
        const int constant = node.inputs[first ? 0 : 1], other = node.inputs[first ? 1 : 0];
        if (first && node.is("Div")) return std::nullopt;
        const int64_t width = shapeOf(node.outputs[0]).back();
        const List<float> columns = byColumn(m_inferred.values[constant], width);
        const bool widens = elementCount(shapeOf(other)) != elementCount(shapeOf(node.outputs[0]));
        Joined found = of(other, depth);
        if (!found || columns.empty() || widens) return std::nullopt;
        List<float> factor(width, 1.f), shift(width, 0.f);
        for (int64_t k = 0; k < width; ++k) {
            if (node.is("Mul")) factor[k] = columns[k];
            if (node.is("Div")) factor[k] = 1 / columns[k];
            if (node.is("Add")) shift[k] = columns[k];
            if (node.is("Sub")) shift[k] = first ? columns[k] : -columns[k];
            if (node.is("Sub") && first) factor[k] = -1;
        }
        found->dense = withBranch(found->dense, factor, shift);
        return found;
    }

    // Returns the value of a constant for each column; empty if two rows differ.
    static List<float> byColumn(const Tensor& constant, int64_t width) {
        if (!constant.isFloat() || constant.size() == 0) return {};
        const int64_t own = constant.rank() == 0 ? 1 : constant.dim(-1);
        if (own != 1 && own != width) return {};
        const float* values = constant.f();
        for (int64_t k = own; k < constant.size(); ++k)
            if (values[k] != values[k % own]) return {};
        List<float> columns(width);
        for (int64_t k = 0; k < width; ++k)
            columns[k] = values[k % own];
        return columns;
    }

    const Graph& m_graph;
    const Inferred& m_inferred;
    std::map<int, Joined> m_done;
};

}  // namespace

Dense denseOf(const Graph& graph, const Node& linear) {
    Dense dense;
    dense.weight = graph.constant(linear.inputs[1]);
    if (linear.input(2) != kAbsent) dense.bias = graph.constant(linear.inputs[2]);
    return dense;
}

Dense withBranch(Dense dense, const List<float>& factor, const List<float>& constant) {
    const bool scales = std::any_of(factor.begin(), factor.end(), [](float f) { return f != 1; });
    const bool shifts = std::any_of(constant.begin(), constant.end(), [](float c) { return c != 0; });
    const int64_t columns = dense.weight.dim(-1);
    if (scales) {
        Tensor weight = Tensor::zeros(Type::Float, dense.weight.shape());
        for (int64_t k = 0; k < weight.size(); ++k)
            weight.writeF()[k] = dense.weight.f()[k] * factor[k % columns];
        dense.weight = weight;
    }
    if (shifts || (scales && dense.bias.known())) {
        List<float> bias(columns);
        for (int64_t k = 0; k < columns; ++k) {
            bias[k] = (dense.bias.known() ? dense.bias.f()[k] * factor[k] : 0) + constant[k];
        }
        dense.bias = Tensor::floats({columns}, bias);
    }
    return dense;
}

std::optional<JoinedLinear> joinedLinear(const Graph& graph, const Inferred& inferred, int value) {
    return Joiner(graph, inferred).run(value);
}

}  // namespace mpm::models

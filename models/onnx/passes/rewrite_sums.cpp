// The passes that rewrite sums, so that the matchers find the terms.
#include <algorithm>
#include <set>

#include "models/onnx/ir/norm.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/passes/passes.hpp"

namespace mpm::models {
namespace {

class ScaleSplitter {
public:
    explicit ScaleSplitter(Graph& graph) : m_graph(graph), m_rewriter(graph) {}

    void run() {
        const size_t count = m_graph.nodes.size();
        for (size_t n = 0; n < count; ++n) {
            if (m_graph.nodes[n].is("Mul")) split(n);
        }
    }

private:
    void split(size_t n) {
        const List<int> operands = m_graph.nodes[n].inputs;
        for (int k = 0; k < 2; ++k) {
            const int scale = operands[k], sum = operands[1 - k];
            if (!m_graph.isConstant(scale) || m_rewriter.soleUser(sum) != static_cast<int>(n)) continue;
            const Node* add = m_graph.nodeOf(sum);
            if (!add || !add->is("Add") || !isProduct(add->inputs[0]) || !isProduct(add->inputs[1])) continue;
            const List<int> terms = add->inputs;
            const int first = scaled(terms[0], scale), second = scaled(terms[1], scale);
            m_graph.nodes[n].op = "Add";
            m_graph.nodes[n].inputs = {first, second};
            return;
        }
    }

    bool isProduct(int value) const {
        return isLinear(m_graph.nodeOf(value)) && m_rewriter.soleUser(value) != kAbsent;
    }

    int scaled(int value, int scale) {
        const int to = m_graph.addValue(m_graph.values[value].name + ".scaled");
        m_graph.add("Mul", {value, scale}, to);
        return to;
    }

    Graph& m_graph;
    Rewriter m_rewriter;
};

class MeanTurner {
public:
    explicit MeanTurner(Graph& graph) : m_graph(graph), m_rewriter(graph) {}

    bool run() {
        const size_t count = m_graph.nodes.size();
        bool changed = false;
        for (size_t n = 0; n < count; ++n)
            changed |= m_graph.nodes[n].is("Transpose") && turn(n);
        for (size_t n = 0; n < count && changed; ++n)
            takeMean(m_graph.nodes[n]);
        if (changed) m_graph.arrange();
        return changed;
    }

private:
    // Rewrites Transpose(x - mean(x)) as t - mean(t), if the graph also has t = Transpose(x).
    bool turn(size_t n) {
        const Node* difference = m_graph.nodeOf(m_graph.nodes[n].inputs[0]);
        if (!difference || !difference->is("Sub")) return false;
        const int x = difference->inputs[0];
        const Node* found = m_graph.nodeOf(difference->inputs[1]);
        if (!found || !found->is("ReduceMean") || found->inputs[0] != x || !found->getInt("keepdims", 1))
            return false;
        const List<int64_t> order = m_graph.nodes[n].getInts("perm");
        const int axesInput = found->input(1);
        if (axesInput != kAbsent && !m_graph.isConstant(axesInput)) return false;
        List<int64_t> axes =
            axesInput == kAbsent ? found->getInts("axes") : m_graph.constant(axesInput).toInts();
        const int tokens = transposed(x, order);
        if (tokens == kAbsent || axes.size() != 1 || order.empty()) return false;
        const auto rank = static_cast<int64_t>(order.size());
        const auto place = std::find(order.begin(), order.end(), axes[0] + (axes[0] < 0 ? rank : 0));
        if (place == order.end()) return false;
        axes[0] = place - order.begin();
        Node mean = *found;
        mean.inputs = {tokens};
        if (axesInput == kAbsent)
            mean.set("axes", axes);
        else
            mean.inputs.push_back(m_graph.addConstant("axes", Tensor::vector(axes)));
        mean.outputs = {m_graph.addValue(mean.name + ".turned")};
        if (axes[0] == rank - 1) m_turned[m_graph.nodes[n].outputs[0]] = tokens;
        Node& node = m_graph.nodes[n];
        node.op = "Sub";
        node.attributes.clear();
        node.inputs = {tokens, mean.outputs[0]};
        m_graph.nodes.push_back(std::move(mean));
        return true;
    }

    // Replaces an RMSNorm of x - mean(x), which ONNX Runtime's optimiser writes, with a LayerNorm of x.
    void takeMean(Node& norm) {
        if (!norm.is("SimplifiedLayerNormalization") && !norm.is("RMSNormalization")) return;
        const auto turned = m_turned.find(norm.inputs[0]);
        if (turned == m_turned.end() || norm.inputs.size() != 2 || norm.getInt("axis", -1) != -1) return;
        norm.op = "LayerNormalization";
        norm.inputs[0] = turned->second;
        const int user = m_rewriter.soleUser(norm.outputs[0]);
        if (user == kAbsent || !m_graph.nodes[user].is("Add")) return;
        const int bias = Rewriter::otherOperand(m_graph.nodes[user], norm.outputs[0]);
        if (bias == kAbsent || !m_graph.isConstant(bias) || m_graph.constant(bias).rank() != 1) return;
        norm.inputs.push_back(bias);
        std::swap(norm.outputs, m_graph.nodes[user].outputs);
        m_graph.nodes[user].op = "Identity";
        m_graph.nodes[user].inputs = {norm.outputs[0]};
    }

    int transposed(int value, const List<int64_t>& order) const {
        for (int user : m_rewriter.usersOf(value)) {
            const Node& node = m_graph.nodes[user];
            if (node.is("Transpose") && node.getInts("perm") == order) return node.outputs[0];
        }
        return kAbsent;
    }

    Graph& m_graph;
    Rewriter m_rewriter;
    std::map<int, int> m_turned;  // the transposed x for each value x - mean(x)
};

class SumRegrouper {
public:
    SumRegrouper(Graph& graph, const Inferred& inferred) : m_graph(graph), m_inferred(inferred) {}

    bool run() {
        List<Node> old;
        old.swap(m_graph.nodes);
        for (Node& node : old)
            take(node);
        m_graph.arrange();
        return m_changed;
    }

private:
    const Shape& shapeOf(int value) const {
        return m_shapes.count(value) ? m_shapes.at(value) : known(value);
    }
    const Shape& known(int value) const { return m_inferred.values[value].shape(); }
    bool isOld(int value) const { return static_cast<size_t>(value) < m_inferred.values.size(); }

    // Returns the sum if the value is a reshaped copy of a sum; otherwise returns the value.
    int baseOf(int value) const {
        const auto found = m_bases.find(value);
        return found == m_bases.end() ? value : found->second;
    }

    void take(Node& node) {
        for (int in : node.inputs)
            if (in != kAbsent && !isOld(in)) return keep(node);
        if (isRegrouping(node)) {
            const int base = baseOf(node.inputs[0]);
            if (base == node.inputs[0] && !m_sums.count(base)) return keep(node);
            if (shapeOf(base) != shapeOf(node.outputs[0])) reshape(base, node.outputs[0]);
            m_bases[node.outputs[0]] = base;
            if (shapeOf(base) == shapeOf(node.outputs[0])) m_graph.add("Identity", {base}, node.outputs[0]);
            return;
        }
        if (ruleOf(node) && isLastAxis(node) && baseOf(node.inputs[0]) != node.inputs[0])
            return takeNorm(node);
        if (node.is("Add") && node.inputs.size() == 2) return takeSum(node);
        keep(node);
    }

    bool isRegrouping(const Node& node) const {
        if (!node.is("Reshape") && !node.is("Squeeze") && !node.is("Unsqueeze")) return false;
        const Shape &from = known(node.inputs[0]), &to = known(node.outputs[0]);
        return m_inferred.values[node.inputs[0]].isFloat() && !from.empty() && !to.empty() &&
               from.back() == to.back();
    }

    bool isLastAxis(const Node& node) const {
        const int64_t axis = node.getInt("axis", -1);
        return axis == -1 || axis + 1 == static_cast<int64_t>(known(node.inputs[0]).size());
    }

    void takeNorm(Node& node) {
        const int base = baseOf(node.inputs[0]), output = node.outputs[0];
        node.inputs[0] = base;
        node.set("axis", -1);
        node.outputs = {fresh(output, shapeOf(base))};
        const int normed = node.outputs[0];
        keep(node);
        reshape(normed, output);
        m_changed = true;
    }

    void takeSum(Node& node) {
        const int output = node.outputs[0];
        for (int k = 0; k < 2; ++k) {
            const int stream = node.inputs[k], other = node.inputs[1 - k], base = baseOf(stream);
            if (base == stream || known(other) != known(output) || known(stream) != known(output)) continue;
            if (shapeOf(base) == known(output)) {
                node.inputs[k] = base;
                break;
            }
            const int moved = fresh(other, shapeOf(base)), sum = fresh(output, shapeOf(base));
            reshape(other, moved);
            m_graph.add("Add", {base, moved}, sum);
            reshape(sum, output);
            m_bases[output] = sum;
            m_changed = true;
            return;
        }
        const bool plain = shapeOf(node.inputs[0]) == shapeOf(node.inputs[1]) &&
                           !isConstant(node.inputs[0]) && !isConstant(node.inputs[1]);
        if (plain) m_sums.insert(output);
        keep(node);
    }

    bool isConstant(int value) const { return isOld(value) && m_inferred.values[value].known(); }

    int fresh(int like, const Shape& shape) {
        const int value = m_graph.addValue(m_graph.values[like].name + ".grouped");
        m_shapes[value] = shape;
        return value;
    }

    void reshape(int from, int to) {
        const Shape& shape = shapeOf(to);
        List<int64_t> sizes(shape.begin(), shape.end());
        sizes[0] = shapeOf(from)[0] == shape[0] ? 0 : -1;  // both keep a dynamic batch
        m_graph.add("Reshape", {from, m_graph.addConstant("groups", Tensor::vector(sizes))}, to);
    }

    void keep(Node& node) { m_graph.nodes.push_back(std::move(node)); }

    Graph& m_graph;
    const Inferred& m_inferred;
    std::map<int, Shape> m_shapes;  // of new values
    std::map<int, int> m_bases;
    std::set<int> m_sums;
    bool m_changed = false;
};

}  // namespace

void splitScales(Graph& graph) {
    ScaleSplitter(graph).run();
}

bool turnMeans(Graph& graph) {
    return MeanTurner(graph).run();
}

bool regroupSums(Graph& graph, const Inferred& inferred) {
    return SumRegrouper(graph, inferred).run();
}

}  // namespace mpm::models

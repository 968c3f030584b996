#include "models/onnx/match/passes.hpp"

#include <cmath>

#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/norm.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

class NormFuser {
public:
    NormFuser(Graph& graph, const Inferred& inferred)
        : m_graph(graph), m_inferred(inferred), m_rewriter(graph) {}

    void run() {
        for (Node& node : m_graph.nodes)  // ONNX Runtime's name for it
            if (node.is("SimplifiedLayerNormalization")) node.op = namesOf(NormKind::Rms).onnx;
        for (size_t n = 0; n < m_graph.nodes.size(); ++n) {
            if (!m_graph.nodes[n].is("ReduceMean")) continue;
            checkTime();
            fuse(static_cast<int>(n));
        }
        m_graph.prune();
    }

private:
    bool overLastAxis(const Node& node, int rank) const {
        List<int64_t> axes = node.getInts("axes");
        if (node.input(1) != kAbsent) {
            if (!m_graph.isConstant(node.inputs[1])) return false;
            axes = m_graph.constant(node.inputs[1]).toInts();
        }
        return axes.size() == 1 && (axes[0] == -1 || axes[0] == rank - 1) && node.getInt("keepdims", 1) == 1;
    }

    // A node of this kind that reads `value`, which may have other readers.
    int userOf(int value, const char* op) const {
        for (int n : m_rewriter.usersOf(value)) {
            if (m_graph.nodes[n].is(op)) return n;
        }
        return kAbsent;
    }

    // d * d or d ^ 2
    bool isSquare(const Node& node) const {
        if (node.inputs.size() != 2) return false;
        if (node.is("Pow")) return m_rewriter.scalar(node.inputs[1]) == 2;
        return node.is("Mul") && node.inputs[0] == node.inputs[1];
    }

    // d -> its square -> mean
    int meanOfSquares(int centred) const {
        for (int n : m_rewriter.usersOf(centred)) {
            const Node& node = m_graph.nodes[n];
            if (!isSquare(node) || node.inputs[0] != centred) continue;
            const int mean = userOf(node.outputs[0], "ReduceMean");
            if (mean != kAbsent && overLastAxis(m_graph.nodes[mean], m_rank))
                return m_graph.nodes[mean].outputs[0];
        }
        return kAbsent;
    }

    // variance -> + epsilon -> square root, or its inverse; sets m_epsilon
    int deviation(int variance) {
        const int add = userOf(variance, "Add");
        if (add == kAbsent) return kAbsent;
        m_epsilon = m_rewriter.scalar(Rewriter::otherOperand(m_graph.nodes[add], variance));
        if (std::isnan(m_epsilon)) return kAbsent;
        const int sum = m_graph.nodes[add].outputs[0];
        const int root = userOf(sum, "Sqrt");
        if (root != kAbsent) return m_graph.nodes[root].outputs[0];
        const int power = userOf(sum, "Pow");
        if (power == kAbsent || std::abs(m_rewriter.scalar(m_graph.nodes[power].inputs[1])) != 0.5)
            return kAbsent;
        return m_graph.nodes[power].outputs[0];
    }

    // Of a value raised to -0.5.
    bool isInverse(int value) const {
        const int power = m_graph.values[value].producer;
        return m_graph.nodes[power].is("Pow") && m_rewriter.scalar(m_graph.nodes[power].inputs[1]) < 0;
    }

    int quotient(int centred, int deviationValue) const {
        if (isInverse(deviationValue)) return productOf(centred, deviationValue);
        const int division = userOf(deviationValue, "Div");
        if (division != kAbsent && m_graph.nodes[division].inputs[0] == centred) return division;
        int inverse = userOf(deviationValue, "Reciprocal");
        if (inverse == kAbsent && division != kAbsent &&
            m_rewriter.scalar(m_graph.nodes[division].inputs[0]) == 1)
            inverse = division;
        return inverse == kAbsent ? kAbsent : productOf(centred, m_graph.nodes[inverse].outputs[0]);
    }

    int productOf(int centred, int factor) const {
        const int product = userOf(factor, "Mul");
        const bool fits =
            product != kAbsent && Rewriter::otherOperand(m_graph.nodes[product], centred) != kAbsent;
        return fits ? product : kAbsent;
    }

    // The node after `n` that multiplies or adds a constant of `width` along the last axis; sets `constant`.
    int parameter(int n, const char* op, int64_t width, int& constant) const {
        const int out = m_graph.nodes[n].outputs[0];
        const int next = m_rewriter.soleUser(out);
        if (next == kAbsent || !m_graph.nodes[next].is(op)) return kAbsent;
        constant = Rewriter::otherOperand(m_graph.nodes[next], out);
        if (constant == kAbsent || !m_graph.isConstant(constant)) return kAbsent;
        const Tensor& t = m_graph.constant(constant);
        return t.size() == width && t.rank() >= 1 && t.dim(-1) == width ? next : kAbsent;
    }

    void fuse(int mean) {
        const int x = m_graph.nodes[mean].inputs[0];
        const Node* square = m_graph.nodeOf(x);
        if (square && isSquare(*square)) return fuseRms(square->inputs[0], mean);
        const int subtraction = userOf(m_graph.nodes[mean].outputs[0], "Sub");
        if (subtraction == kAbsent || m_graph.nodes[subtraction].inputs[0] != x) return;
        m_rank = rankOf(x);
        if (m_rank == 0 || !overLastAxis(m_graph.nodes[mean], m_rank)) return;
        const int centred = m_graph.nodes[subtraction].outputs[0];
        const int variance = meanOfSquares(centred);
        if (variance != kAbsent) divide(NormKind::Layer, x, centred, variance);
    }

    // x -> its square -> mean -> root -> x / root
    void fuseRms(int x, int mean) {
        m_rank = rankOf(x);
        if (m_rank == 0 || !overLastAxis(m_graph.nodes[mean], m_rank)) return;
        divide(NormKind::Rms, x, x, m_graph.nodes[mean].outputs[0]);
    }

    void divide(NormKind kind, int x, int centred, int variance) {
        const int root = deviation(variance);
        const int last = root == kAbsent ? kAbsent : quotient(centred, root);
        if (last != kAbsent && widthOf(x) > 0) replaceBy(kind, x, last);
    }

    // Zero if unknown: for values that expanding composites has added.
    int rankOf(int x) const {
        const bool known = static_cast<size_t>(x) < m_inferred.values.size();
        return known ? static_cast<int>(m_inferred.values[x].shape().size()) : 0;
    }

    int64_t widthOf(int x) const { return rankOf(x) > 0 ? m_inferred.values[x].shape().back() : 0; }

    // A norm may lack its weight, its bias or both: optimisers fold them into the next product.
    void replaceBy(NormKind kind, int x, int last) {
        const int64_t width = widthOf(x);
        int weight = kAbsent, bias = kAbsent;
        const int scaled = parameter(last, "Mul", width, weight);
        if (scaled != kAbsent) last = scaled;
        const int shifted = parameter(last, "Add", width, bias);
        if (shifted != kAbsent) last = shifted;
        Node norm;
        norm.op = namesOf(kind).onnx;
        norm.name = m_graph.nodes[last].name;
        norm.inputs = {x, scaled != kAbsent ? flat(weight) : ones(width)};
        if (shifted != kAbsent) norm.inputs.push_back(flat(bias));
        norm.outputs = m_graph.nodes[last].outputs;
        norm.attributes["axis"] = Attribute::of(int64_t{-1});
        norm.attributes["epsilon"] = Attribute::of(static_cast<float>(m_epsilon));
        m_graph.nodes[last] = norm;
        m_rewriter.refresh();
    }

    int ones(int64_t width) {
        return m_graph.addConstant("ones." + std::to_string(width),
                                   Tensor::floats({width}, List<float>(width, 1.0f)));
    }

    int flat(int constant) {
        const Tensor& t = m_graph.constant(constant);
        if (t.rank() == 1) return constant;
        return m_graph.addConstant(m_graph.values[constant].name + ".flat", t.reshaped({t.size()}));
    }

    Graph& m_graph;
    const Inferred& m_inferred;
    Rewriter m_rewriter;
    double m_epsilon = 0;
    int m_rank = 1;  // for axes counted from the front
};

}  // namespace

void fuseNorms(Graph& graph, const Inferred& inferred) {
    NormFuser(graph, inferred).run();
}

}  // namespace mpm::models

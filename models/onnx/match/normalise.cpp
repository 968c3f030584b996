#include "models/onnx/match/normalise.hpp"

#include <cmath>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/match/expand.hpp"

namespace mpm::models {
namespace {

bool isInternal(const Node& node, const char* op) {
    return node.domain == "mpm.internal" && node.op == op;
}

// The operand that a Where with a uniform condition copies; kAbsent if it is broadcast.
int chosenBranch(const Inferred& inferred, const Node& node) {
    const Tensor& condition = inferred.values[node.inputs[0]];
    if (!condition.known() || condition.size() == 0) return kAbsent;
    const bool first = condition.at(0) != 0;
    for (int64_t k = 1; k < condition.size(); ++k) {
        if ((condition.at(k) != 0) != first) return kAbsent;
    }
    const int branch = node.inputs[first ? 1 : 2];
    const bool copies = inferred.values[branch].shape() == inferred.values[node.outputs[0]].shape();
    return copies ? branch : kAbsent;
}

// Identity, Dropout and casts between float types; an If whose condition is known; guards against NaN after a
// softmax.
int passedThrough(const Graph& graph, const Inferred& inferred, const Node& node) {
    if (node.is("Identity") || node.is("Dropout")) return node.inputs[0];
    if (node.is("Cast") || node.is("CastLike")) {
        const Tensor& from = inferred.values[node.inputs[0]];
        return from.type() == inferred.values[node.outputs[0]].type() ? node.inputs[0] : kAbsent;
    }
    if (isInternal(node, "Select") && inferred.values[node.inputs[0]].known()) {
        const size_t count = node.outputs.size();
        return count == 1 ? node.inputs[inferred.values[node.inputs[0]].at(0) != 0 ? 1 : 2] : kAbsent;
    }
    if (node.is("Where")) {
        const Node* test = graph.nodeOf(node.inputs[0]);
        if (test && test->is("IsNaN") && test->inputs[0] == node.inputs[2]) return node.inputs[2];
        return chosenBranch(inferred, node);
    }
    const bool sameShape =
        inferred.values[node.outputs[0]].shape() == inferred.values[node.inputs[0]].shape();
    if (sameShape && (node.is("Expand") || node.is("Reshape"))) return node.inputs[0];
    return kAbsent;
}

void dropIdle(Graph& graph, const Inferred& inferred) {
    Rewriter rewriter(graph);
    for (Node& node : graph.nodes) {
        if (node.inputs.empty() || node.inputs[0] == kAbsent || node.outputs.empty()) continue;
        if (inferred.values[node.outputs[0]].type() != Type::Float) continue;
        const int source = passedThrough(graph, inferred, node);
        if (source == kAbsent || rewriter.isOutput(node.outputs[0])) continue;
        rewriter.replace(node.outputs[0], source);
    }
    graph.prune();
}

class NormFuser {
public:
    NormFuser(Graph& graph, const Inferred& inferred)
        : m_graph(graph), m_inferred(inferred), m_rewriter(graph) {}

    void run() {
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

    // d -> (d * d or d ^ 2) -> mean
    int meanOfSquares(int centred) const {
        for (int n : m_rewriter.usersOf(centred)) {
            const Node& node = m_graph.nodes[n];
            const bool square =
                (node.is("Pow") && node.inputs[0] == centred && m_rewriter.scalar(node.inputs[1]) == 2) ||
                (node.is("Mul") && node.inputs[0] == centred && node.inputs[1] == centred);
            if (!square) continue;
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

    void fuse(int first) {
        const int x = m_graph.nodes[first].inputs[0];
        const int subtraction = userOf(m_graph.nodes[first].outputs[0], "Sub");
        if (subtraction == kAbsent || m_graph.nodes[subtraction].inputs[0] != x) return;
        m_rank = rankOf(x);
        if (m_rank == 0 || !overLastAxis(m_graph.nodes[first], m_rank)) return;
        const int centred = m_graph.nodes[subtraction].outputs[0];
        const int variance = meanOfSquares(centred);
        const int root = variance == kAbsent ? kAbsent : deviation(variance);
        const int last = root == kAbsent ? kAbsent : quotient(centred, root);
        if (last != kAbsent && widthOf(x) > 0) replaceBy(x, last);
    }

    // Zero if unknown: for values that expanding composites has added.
    int rankOf(int x) const {
        const bool known = static_cast<size_t>(x) < m_inferred.values.size();
        return known ? static_cast<int>(m_inferred.values[x].shape().size()) : 0;
    }

    int64_t widthOf(int x) const { return rankOf(x) > 0 ? m_inferred.values[x].shape().back() : 0; }

    // A norm may lack its weight, its bias or both: optimisers fold them into the next product.
    void replaceBy(int x, int last) {
        const int64_t width = widthOf(x);
        int weight = kAbsent, bias = kAbsent;
        const int scaled = parameter(last, "Mul", width, weight);
        if (scaled != kAbsent) last = scaled;
        const int shifted = parameter(last, "Add", width, bias);
        if (shifted != kAbsent) last = shifted;
        Node norm;
        norm.op = "LayerNormalization";
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

Tensor transposed(const Tensor& x, float factor) {
    Tensor y(Type::Float, {x.dim(1), x.dim(0)});
    y.allocate();
    for (int64_t r = 0; r < x.dim(0); ++r) {
        for (int64_t c = 0; c < x.dim(1); ++c)
            y.writeF()[c * x.dim(0) + r] = factor * x.f()[r * x.dim(1) + c];
    }
    return y;
}

Tensor scaled(const Tensor& x, float factor, const Shape& shape) {
    if (factor == 1) return x.reshaped(shape);
    List<float> values = x.toFloats();
    for (float& value : values)
        value *= factor;
    return Tensor::floats(shape, values);
}

class LinearFuser {
public:
    explicit LinearFuser(Graph& graph) : m_graph(graph), m_rewriter(graph) {}

    void run() {
        for (size_t n = 0; n < m_graph.nodes.size(); ++n) {
            if (m_graph.nodes[n].is("MatMul")) fuseProduct(static_cast<int>(n));
            if (m_graph.nodes[n].is("Gemm")) fuseGemm(m_graph.nodes[n]);
        }
        m_graph.prune();
    }

private:
    static Node linear(const Node& at, int x, int weight, int bias) {
        Node node;
        node.op = "Linear";
        node.domain = "mpm.internal";
        node.name = at.name;
        node.inputs = {x, weight};
        if (bias != kAbsent) node.inputs.push_back(bias);
        node.outputs = at.outputs;
        return node;
    }

    int reshapedConstant(int constant, const Shape& shape) {
        const Tensor& t = m_graph.constant(constant);
        if (t.shape() == shape) return constant;
        return m_graph.addConstant(m_graph.values[constant].name + ".flat", t.reshaped(shape));
    }

    void fuseProduct(int n) {
        const int x = m_graph.nodes[n].inputs[0];
        int weight = m_graph.nodes[n].inputs[1];
        if (!m_graph.isConstant(weight) || m_graph.isConstant(x)) return;
        const Tensor w = m_graph.constant(weight);
        if (w.rank() < 2 || w.size() != checkedProduct<int64_t>(w.dim(-1), w.dim(-2))) return;
        const int64_t columns = w.dim(-1);
        weight = reshapedConstant(weight, {w.dim(-2), columns});
        const int out = m_graph.nodes[n].outputs[0];
        const int next = m_rewriter.soleUser(out);
        if (next != kAbsent && m_graph.nodes[next].is("Add")) {
            int bias = Rewriter::otherOperand(m_graph.nodes[next], out);
            if (bias != kAbsent && m_graph.isConstant(bias) && m_graph.constant(bias).size() == columns &&
                m_graph.constant(bias).rank() >= 1 && m_graph.constant(bias).dim(-1) == columns) {
                bias = reshapedConstant(bias, {columns});
                m_graph.nodes[next] = linear(m_graph.nodes[next], x, weight, bias);
                return;
            }
        }
        m_graph.nodes[n] = linear(m_graph.nodes[n], x, weight, kAbsent);
    }

    void fuseGemm(Node& node) {
        const int weight = node.inputs[1], bias = node.input(2);
        if (!m_graph.isConstant(weight) || m_graph.isConstant(node.inputs[0]) || node.getInt("transA", 0))
            return;
        if (bias != kAbsent && !m_graph.isConstant(bias)) return;
        const float alpha = node.getFloat("alpha", 1), beta = node.getFloat("beta", 1);
        const Tensor w = m_graph.constant(weight);
        const bool turn = node.getInt("transB", 0) != 0;
        const int64_t columns = turn ? w.dim(0) : w.dim(1);
        const int newWeight =
            turn ? m_graph.addConstant(m_graph.values[weight].name + ".t", transposed(w, alpha))
                 : m_graph.addConstant(m_graph.values[weight].name, scaled(w, alpha, w.shape()));
        int newBias = kAbsent;
        if (bias != kAbsent) {
            const Tensor b = m_graph.constant(bias);
            if (b.size() != columns && b.size() != 1) return;
            const Tensor wide =
                b.size() == columns ? b : Tensor::floats({columns}, static_cast<float>(b.at(0)));
            newBias = m_graph.addConstant(m_graph.values[bias].name, scaled(wide, beta, {columns}));
        }
        node = linear(node, node.inputs[0], newWeight, newBias);
    }

    Graph& m_graph;
    Rewriter m_rewriter;
};

}  // namespace

void fold(Graph& graph, const Inferred& inferred, const Inferred* otherBatch) {
    for (size_t v = 0; v < graph.values.size(); ++v) {
        if (v % 1024 == 0) checkTime();
        if (graph.values[v].constant.known() || !inferred.values[v].known()) continue;
        if (otherBatch && !inferred.values[v].equals(otherBatch->values[v])) continue;
        bool isInput = false;
        for (const Port& port : graph.inputs)
            isInput |= port.value == static_cast<int>(v);
        if (!isInput) graph.values[v].constant = inferred.values[v];
    }
    List<Node> kept;
    for (Node& node : graph.nodes) {
        bool constant = true;
        for (int out : node.outputs)
            constant &= out == kAbsent || graph.values[out].constant.known();
        if (!constant) kept.push_back(std::move(node));
    }
    graph.nodes = std::move(kept);
    graph.prune();
}

void normalise(Graph& graph, const Inferred& inferred) {
    dropIdle(graph, inferred);
    expandComposites(graph, inferred);
    NormFuser(graph, inferred).run();
    LinearFuser(graph).run();
    graph.sort();
}

}  // namespace mpm::models

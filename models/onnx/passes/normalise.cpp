#include "models/onnx/passes/passes.hpp"

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

bool isInternal(const Node& node, const char* op) {
    return node.domain == "mpm.internal" && node.op == op;
}

// Returns the operand that a Where copies; kAbsent if the condition varies or the operand is broadcast.
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

// Returns the input that a node copies; kAbsent if the node has another effect. Examples of nodes that copy:
// Identity, a cast between float types, an If with a constant condition, a guard against NaN after a softmax.
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
        List<int> inputs{x, weight};
        if (bias != kAbsent) inputs.push_back(bias);
        return {"Linear", "mpm.internal", at.name, inputs, at.outputs, {}};
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
        const bool turn = node.getInt("transB", 0) != 0;
        const Tensor w = turn ? m_graph.constant(weight).transposed() : m_graph.constant(weight);
        const int64_t columns = w.dim(1);
        const int newWeight = m_graph.addConstant(m_graph.values[weight].name + (turn ? ".t" : ""),
                                                  scaled(w, alpha, w.shape()));
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
    fusePools(graph, inferred);
    cutPatches(graph, inferred);
    fuseNorms(graph, inferred);
    LinearFuser(graph).run();
    splitScales(graph);
    graph.sort();
}

}  // namespace mpm::models

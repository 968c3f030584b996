#include "models/onnx/io/optimised.hpp"

#include <utility>

#include "base/norm_rule.hpp"

namespace mpm::models {
namespace {

class OptimisedExpander {
public:
    explicit OptimisedExpander(Graph& graph) : m_graph(graph) {}

    void run() {
        const size_t count = m_graph.nodes.size();
        for (size_t n = 0; n < count; ++n) {
            if (m_graph.nodes[n].domain == "com.microsoft") expand(n);
        }
        m_graph.sort();
    }

private:
    void expand(size_t n) {
        const Node node = m_graph.nodes[n];
        if (node.inputs.empty() || node.inputs[0] == kAbsent || node.outputs.empty()) return;
        if (node.op == "FusedMatMul") {
            m_graph.nodes[n].domain = "mpm.internal";
        } else if (node.op == "Gelu" || node.op == "BiasGelu" || node.op == "FastGelu") {
            const int x = node.input(1) == kAbsent ? node.inputs[0] : add(n, node.inputs[0], node.inputs[1]);
            Node& gelu = replaceBy(n, "Gelu", {x});
            if (node.op == "FastGelu") gelu.attributes["approximate"] = Attribute::of(std::string("tanh"));
        } else if (node.op == "QuickGelu") {
            const float alpha = node.getFloat("alpha", 1.702f);
            replaceBy(n, "Swish", {node.inputs[0]}).attributes["alpha"] = Attribute::of(alpha);
        } else if (node.op == "SkipLayerNormalization") {
            expandSkipNorm(n, node, NormKind::Layer, node.input(3), node.input(4));
        } else if (node.op == "SkipSimplifiedLayerNormalization") {
            expandSkipNorm(n, node, NormKind::Rms, kAbsent, node.input(3));
        }
    }

    // Inputs: x, skip, weight, the two biases. Outputs: result, mean, deviation, sum.
    void expandSkipNorm(size_t n, const Node& node, NormKind kind, int normBias, int sumBias) {
        const auto isUsed = [&](size_t k) { return k < node.outputs.size() && node.outputs[k] != kAbsent; };
        if (node.input(1) == kAbsent || node.input(2) == kAbsent || isUsed(1) || isUsed(2)) return;
        int x = node.inputs[0], skip = node.inputs[1];
        if (sumBias != kAbsent) {  // of the product in front
            if (!isProduct(x) && isProduct(skip)) std::swap(x, skip);
            x = add(n, x, sumBias);
        }
        const int sum = add(n, x, skip, isUsed(3) ? node.outputs[3] : kAbsent);
        List<int> inputs{sum, node.inputs[2]};
        if (normBias != kAbsent) inputs.push_back(normBias);
        Node& norm = replaceBy(n, namesOf(kind).onnx, inputs);
        norm.outputs = {node.outputs[0]};
        norm.attributes["axis"] = Attribute::of(int64_t{-1});
        norm.attributes["epsilon"] = Attribute::of(node.getFloat("epsilon", 1e-12f));
    }

    bool isProduct(int value) const {
        const Node* node = m_graph.nodeOf(value);
        return node && (node->op == "MatMul" || node->op == "FusedMatMul" || node->op == "Gemm");
    }

    int add(size_t n, int a, int b, int output = kAbsent) {
        Node node;
        node.op = "Add";
        node.name = m_graph.nodes[n].name;
        node.inputs = {a, b};
        node.outputs = {output == kAbsent ? m_graph.addValue(node.name + ".sum") : output};
        m_graph.nodes.push_back(node);
        return node.outputs[0];
    }

    Node& replaceBy(size_t n, const std::string& op, const List<int>& inputs) {
        Node& node = m_graph.nodes[n];
        node.op = op;
        node.domain.clear();
        node.inputs = inputs;
        node.attributes.clear();
        return node;
    }

    Graph& m_graph;
};

}  // namespace

void expandOptimised(Graph& graph) {
    OptimisedExpander(graph).run();
}

}  // namespace mpm::models

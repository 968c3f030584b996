#include "models/onnx/io/read_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/checked.hpp"
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
            if (node.op == "FastGelu") gelu.set("approximate", "tanh");
        } else if (node.op == "QuickGelu") {
            replaceBy(n, "Swish", {node.inputs[0]}).set("alpha", node.getFloat("alpha", 1.702f));
        } else if (node.op == "SkipLayerNormalization") {
            expandSkipNorm(n, node, NormKind::Layer, node.input(3), node.input(4));
        } else if (node.op == "SkipSimplifiedLayerNormalization") {
            expandSkipNorm(n, node, NormKind::Rms, kAbsent, node.input(3));
        } else if (node.op == "FusedConv") {
            expandConvolution(n, node);
        } else if (node.op == "Attention") {
            expandAttention(n, node);
        }
    }

    // Replaces a FusedConv with a convolution, an activation and, for a fourth input, an Add between them.
    void expandConvolution(size_t n, const Node& node) {
        const std::string activation = node.getString("activation", "");
        const bool plain = activation == "Relu" || activation == "Sigmoid" || activation == "Tanh";
        if (!plain || node.inputs.size() < 2) return;
        Node conv = node;
        conv.op = "Conv";
        conv.domain.clear();
        conv.inputs.resize(std::min<size_t>(node.inputs.size(), 3));
        conv.attributes.erase("activation");
        conv.attributes.erase("activation_params");
        conv.outputs = {m_graph.addValue(node.name + ".conv")};
        m_graph.nodes.push_back(conv);
        const int sum = node.input(3) == kAbsent ? conv.outputs[0] : add(n, conv.outputs[0], node.inputs[3]);
        replaceBy(n, activation, {sum});
    }

    // The inputs of the node are x, a single weight (for queries, keys and values together), and a bias.
    void expandAttention(size_t n, const Node& node) {
        const int64_t heads = node.getInt("num_heads", 0);
        const bool others = std::any_of(node.inputs.begin() + std::min<size_t>(node.inputs.size(), 3),
                                        node.inputs.end(), [](int value) { return value != kAbsent; });
        const bool plain = !others && !node.getInt("unidirectional", 0) && !node.getInt("do_rotary", 0) &&
                           node.outputs.size() == 1 && heads > 0 && m_graph.isConstant(node.input(1)) &&
                           m_graph.constant(node.input(1)).rank() == 2;
        if (!plain) return;
        const int64_t columns = m_graph.constant(node.input(1)).dim(1);
        List<int64_t> sizes = node.getInts("qkv_hidden_sizes");
        if (sizes.empty()) sizes = {columns / 3, columns / 3, columns / 3};
        int all = emit(n, "MatMul", {node.inputs[0], node.inputs[1]});
        if (node.input(2) != kAbsent) all = add(n, all, node.inputs[2]);
        List<int> parts;
        int64_t first = 0;
        for (size_t k = 0; k < 3; ++k) {
            const int64_t end = checkedSum<int64_t>(first, sizes[k]);
            const int rows = emit(n, "Slice", {all, ints({first}), ints({end}), ints({2})});
            const int split = emit(n, "Reshape", {rows, ints({0, 0, heads, -1})});
            parts.push_back(
                transpose(n, split, k == 1 ? List<int64_t>{0, 2, 3, 1} : List<int64_t>{0, 2, 1, 3}));
            first = end;
        }
        const float usual = 1 / std::sqrt(static_cast<float>(sizes[0]) / static_cast<float>(heads));
        const float given = node.getFloat("scale", 0);
        const int scale = m_graph.addConstant("scale", Tensor::scalar(given != 0 ? given : usual));
        const int scores = emit(n, "Mul", {emit(n, "MatMul", {parts[0], parts[1]}), scale});
        const int weights = emit(n, "Softmax", {scores});
        m_graph.nodes.back().set("axis", -1);
        const int mixed = transpose(n, emit(n, "MatMul", {weights, parts[2]}), {0, 2, 1, 3});
        replaceBy(n, "Reshape", {mixed, ints({0, 0, -1})});
    }

    int emit(size_t n, const std::string& op, const List<int>& inputs, int output = kAbsent) {
        const std::string name = m_graph.nodes[n].name;
        const int to = output == kAbsent ? m_graph.addValue(name + "." + op) : output;
        m_graph.add(op, inputs, to, {}, name);
        return to;
    }

    int transpose(size_t n, int x, const List<int64_t>& order) {
        const int y = emit(n, "Transpose", {x});
        m_graph.nodes.back().set("perm", order);
        return y;
    }

    int ints(const List<int64_t>& values) { return m_graph.addConstant("ints", Tensor::vector(values)); }

    // Inputs of the node: x, skip, the norm's weight, biases. Outputs: result, mean, 1 / deviation, sum.
    void expandSkipNorm(size_t n, const Node& node, NormKind kind, int normBias, int sumBias) {
        const auto isUsed = [&](size_t k) { return k < node.outputs.size() && node.outputs[k] != kAbsent; };
        if (node.input(1) == kAbsent || node.input(2) == kAbsent || isUsed(1) || isUsed(2)) return;
        int x = node.inputs[0], skip = node.inputs[1];
        if (sumBias != kAbsent) {  // prefers to add the bias to a product, which then becomes a Linear
            if (!isProduct(x) && isProduct(skip)) std::swap(x, skip);
            x = add(n, x, sumBias);
        }
        const int sum = add(n, x, skip, isUsed(3) ? node.outputs[3] : kAbsent);
        List<int> inputs{sum, node.inputs[2]};
        if (normBias != kAbsent) inputs.push_back(normBias);
        Node& norm = replaceBy(n, namesOf(kind).onnx, inputs);
        norm.outputs = {node.outputs[0]};
        norm.set("axis", -1).set("epsilon", node.getFloat("epsilon", 1e-12f));
    }

    bool isProduct(int value) const {
        const Node* node = m_graph.nodeOf(value);
        return node && (node->op == "MatMul" || node->op == "FusedMatMul" || node->op == "Gemm");
    }

    int add(size_t n, int a, int b, int output = kAbsent) {
        const bool named = output != kAbsent;
        return emit(n, "Add", {a, b}, named ? output : m_graph.addValue(m_graph.nodes[n].name + ".sum"));
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

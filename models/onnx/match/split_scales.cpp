#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/match/passes.hpp"

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
        const Node* node = m_graph.nodeOf(value);
        return node && node->domain == "mpm.internal" && node->op == "Linear" &&
               m_rewriter.soleUser(value) != kAbsent;
    }

    int scaled(int value, int scale) {
        Node node;
        node.op = "Mul";
        node.inputs = {value, scale};
        node.outputs = {m_graph.addValue(m_graph.values[value].name + ".scaled")};
        m_graph.nodes.push_back(node);
        return node.outputs[0];
    }

    Graph& m_graph;
    Rewriter m_rewriter;
};

}  // namespace

void splitScales(Graph& graph) {
    ScaleSplitter(graph).run();
}

}  // namespace mpm::models

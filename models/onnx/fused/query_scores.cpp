// A pass that finds scores computed from masks and classes of queries:
//     scores = transpose(softmax(classes) without the last class) x sigmoid(resize(masks))
// The resize may also come last.
#include "models/onnx/fused/insert.hpp"

namespace mpm::models {
namespace {

class QueryScores {
public:
    explicit QueryScores(Graph& graph) : m_graph(graph) {}

    bool find() {
        const Port& port = m_graph.outputs[0];
        if (port.dims.size() != 4) return false;
        m_size = {port.dims[2], port.dims[3]};
        const Node* node = m_graph.nodeOf(port.value);
        m_sigmoidFirst = resizes(node);
        if (m_sigmoidFirst) node = before(node, 0);
        const Node* product = is(node, "Reshape") ? before(node, 0) : nullptr;
        if (!is(product, "MpmMatMul") || product->getInt("reversed", 0) != 0) return false;
        return findMasks(before(product, 1)) && findClasses(before(product, 0), port.dims[1]);
    }

    void replace() {
        Port& port = m_graph.outputs[0];
        const int labels = m_graph.addValue(port.name + ".labels");
        Node& node = m_graph.add("MpmMaskLabels", {m_masks, m_classes}, labels, "mpm", "labels");
        node.set("size", m_size);
        if (m_sigmoidFirst) node.set("sigmoid_first", 1);
        port.value = labels;
        port.dims[1] = 1;
        port.type = Type::Int;
        m_graph.arrange();
    }

private:
    static bool is(const Node* node, const char* op) { return node && node->op == op; }
    const Node* before(const Node* node, size_t input) const {
        return node && node->input(input) != kAbsent ? m_graph.nodeOf(node->input(input)) : nullptr;
    }

    bool resizes(const Node* node) const {
        return is(node, "MpmResize") && node->getInt("align_corners", 0) == 0 && !node->has("crop") &&
               node->getInts("size") == m_size;
    }

    // Finds the masks. `flat` is their sigmoid, [B, Q, rows, columns], reshaped to [B, Q, pixels].
    bool findMasks(const Node* flat) {
        const Node* sigmoid = is(flat, "Reshape") ? before(flat, 0) : nullptr;
        if (!is(sigmoid, "Sigmoid")) return false;
        m_masks = sigmoid->input(0);
        const Node* resize = before(sigmoid, 0);
        if (!m_sigmoidFirst && resizes(resize)) m_masks = resize->input(0);
        return true;
    }

    // Finds the classes. `turned` has the first `count` entries of their softmax [B, Q, count + 1],
    // transposed to [B, count, Q].
    bool findClasses(const Node* turned, int64_t count) {
        const Node* cut = is(turned, "Transpose") || is(turned, "MpmTranspose") ? before(turned, 0) : nullptr;
        if (!is(cut, "Slice") || turned->getInts("perm") != List<int64_t>{0, 2, 1}) return false;
        const Node* softmax = before(cut, 0);
        if (!is(softmax, "Softmax") || softmax->getInt("axis", -1) != 2) return false;
        const List<int64_t> wanted[] = {{0}, {count}, {2}};
        for (size_t k = 0; k < 3; ++k) {
            const int value = cut->input(k + 1);
            if (!m_graph.isConstant(value) || m_graph.constant(value).toInts() != wanted[k]) return false;
        }
        m_classes = softmax->input(0);
        return true;
    }

    Graph& m_graph;
    Shape m_size;
    bool m_sigmoidFirst = false;
    int m_masks = kAbsent, m_classes = kAbsent;
};

}  // namespace

bool labelQueryScores(Graph& graph) {
    QueryScores scores(graph);
    if (!scores.find()) return false;
    scores.replace();
    return true;
}

}  // namespace mpm::models

#include "models/onnx/io/read_tensor.hpp"

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

class SequenceResolver {
public:
    explicit SequenceResolver(Graph& graph) : m_graph(graph) {}

    void run() {
        const size_t count = m_graph.nodes.size();
        for (size_t n = 0; n < count; ++n) {
            if (m_graph.nodes[n].is("ConcatFromSequence")) join(n);
            if (!m_graph.nodes[n].is("SequenceAt")) continue;
            checkTime();
            const Node node = m_graph.nodes[n];
            if (node.inputs.size() == 2 && m_graph.isConstant(node.inputs[1])) resolve(n, node);
        }
        m_graph.sort();
    }

private:
    static constexpr int64_t kNodeBytes = 800;  // memory of a node and its output

    // Replaces a ConcatFromSequence with a Concat. If `new_axis` is set (torch.stack), first adds an axis to
    // each part.
    void join(size_t n) {
        const Node node = m_graph.nodes[n];
        const Node* list = node.inputs.empty() ? nullptr : m_graph.nodeOf(node.inputs[0]);
        if (!list || !list->is("SequenceConstruct") || !node.has("axis")) return;
        checkTime();
        const int64_t axis = node.getInt("axis", 0);
        const bool stacks = node.getInt("new_axis", 0) != 0;
        // Charges memory for the parts, because a small file becomes a large graph if many nodes join the
        // same long list.
        const int64_t each = stacks ? kNodeBytes : static_cast<int64_t>(2 * sizeof(int));
        if (m_graph.held)
            m_graph.held->add(checkedProduct<int64_t>(list->inputs.size(), each),
                              "the list of a sequence's parts");
        List<int> parts = list->inputs;
        if (stacks) {
            const int axes = ints({axis});
            for (int& part : parts)
                part = unsqueezed(part, axis, axes);
        }
        replaceBy(n, "Concat", parts);
        m_graph.nodes[n].set("axis", axis);
    }

    int unsqueezed(int value, int64_t axis, int axes) {
        const int to = m_graph.addValue("part");
        Node& node = m_graph.add("Unsqueeze", {value}, to);
        if (m_graph.opset >= 13)
            node.inputs.push_back(axes);
        else
            node.set("axes", {axis});
        return to;
    }

    void resolve(size_t n, const Node& at) {
        const Node* list = m_graph.nodeOf(at.inputs[0]);
        const List<int64_t> index = m_graph.constant(at.inputs[1]).toInts();
        if (!list || index.size() != 1) return;
        if (list->is("SequenceConstruct")) {
            const int64_t count = static_cast<int64_t>(list->inputs.size());
            const int64_t k = index[0] < 0 ? index[0] + count : index[0];
            if (k >= 0 && k < count) replaceBy(n, "Identity", {list->inputs[k]});
            return;
        }
        if (!list->is("SplitToSequence") || list->inputs.empty()) return;
        const int source = list->inputs[0];
        const int64_t axis = list->getInt("axis", 0);
        if (list->input(1) == kAbsent) {  // without sizes, each part has size 1
            pickOne(n, source, index[0], axis, list->getInt("keepdims", 1) != 0);
        } else if (m_graph.isConstant(list->inputs[1])) {
            const Tensor sizes = m_graph.constant(list->inputs[1]);
            // PyTorch 2.6 exports unbind with keepdims 0 and size 1, although the standard ignores keepdims
            // if sizes are given.
            const bool drops = sizes.rank() == 0 && sizes.at(0) == 1 && list->getInt("keepdims", 1) == 0;
            if (drops) {
                pickOne(n, source, index[0], axis, false);
            } else {
                pickPart(n, source, sizes, index[0], axis);
            }
        }
    }

    int ints(const List<int64_t>& values) { return m_graph.addConstant("ints", Tensor::vector(values)); }

    void pickOne(size_t n, int source, int64_t index, int64_t axis, bool keep) {
        const Tensor at = keep ? Tensor::vector({index}) : Tensor::ints({}, index);
        replaceBy(n, "Gather", {source, m_graph.addConstant("index", at)});
        m_graph.nodes[n].set("axis", axis);
    }

    void pickPart(size_t n, int source, const Tensor& sizes, int64_t index, int64_t axis) {
        const List<int64_t> each = sizes.toInts();
        const int64_t count = static_cast<int64_t>(each.size());
        if (index < 0 || (sizes.rank() > 0 && index >= count) || each.empty()) return;
        int64_t start = sizes.rank() == 0 ? checkedProduct<int64_t>(index, each[0]) : 0;
        for (int64_t k = 0; k < index && sizes.rank() > 0; ++k)
            start = checkedSum<int64_t>(start, each[k]);
        const int64_t size = sizes.rank() == 0 ? each[0] : each[index];
        replaceBy(n, "Slice",
                  {source, ints({start}), ints({checkedSum<int64_t>(start, size)}), ints({axis})});
    }

    void replaceBy(size_t n, const std::string& op, const List<int>& inputs) {
        Node& node = m_graph.nodes[n];
        node = {op, {}, node.name, inputs, node.outputs, {}};
    }

    Graph& m_graph;
};

}  // namespace

void resolveSequences(Graph& graph) {
    SequenceResolver(graph).run();
}

}  // namespace mpm::models

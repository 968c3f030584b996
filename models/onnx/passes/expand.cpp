#include "models/onnx/passes/passes.hpp"

#include "base/checked.hpp"
#include "base/printable.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace mpm::models {
namespace {

class Expander {
public:
    Expander(Graph& graph, const Inferred& inferred) : m_graph(graph), m_inferred(inferred) {}

    void run() {
        List<Node> old;
        old.swap(m_graph.nodes);
        for (Node& node : old) {
            m_name = node.name;
            const bool sound = !node.outputs.empty() && node.outputs[0] != kAbsent &&
                               m_inferred.values[node.outputs[0]].isFloat();
            const bool done = sound && ((node.is("Attention") && expandAttention(node)) ||
                                        (node.is("Einsum") && expandEinsum(node)) ||
                                        (isFusedMatMul(node) && expandFusedMatMul(node)));
            if (!done) m_graph.nodes.push_back(std::move(node));
        }
        m_graph.arrange();
    }

private:
    const Shape& shapeOf(int value) const { return m_inferred.values[value].shape(); }

    int emit(const std::string& op, const List<int>& inputs, int output = kAbsent) {
        const int to = output == kAbsent ? m_graph.addValue(m_name + "." + op) : output;
        m_graph.add(op, inputs, to, {}, m_name);
        return to;
    }

    int transpose(int value, const List<int64_t>& order, int output = kAbsent) {
        const int to = emit("Transpose", {value}, output);
        m_graph.nodes.back().set("perm", order);
        return to;
    }

    // A zero in `shape` copies the size of this axis from `value`, so that a dynamic batch stays dynamic.
    int reshape(int value, const List<int64_t>& shape, int output = kAbsent) {
        return emit("Reshape", {value, m_graph.addConstant("shape", Tensor::vector(shape))}, output);
    }

    int splitHeads(int value, int64_t heads) {
        if (shapeOf(value).size() == 4) return value;
        if (heads < 1) throw Refusal("attention '" + printable(m_name, 200) + "' has no heads");
        return transpose(reshape(value, {0, 0, heads, shapeOf(value)[2] / heads}), {0, 2, 1, 3});
    }

    bool expandAttention(const Node& node) {
        const int q = node.inputs[0], k = node.inputs[1], v = node.inputs[2];
        const int64_t heads = node.getInt("q_num_heads", 0), keyHeads = node.getInt("kv_num_heads", 0);
        const bool flat = shapeOf(q).size() == 3;
        const bool plain = !node.getInt("is_causal", 0) && node.getFloat("softcap", 0) == 0 &&
                           node.input(4) == kAbsent && node.input(5) == kAbsent && heads == keyHeads &&
                           node.outputs.size() == 1;
        if (!plain || (flat && heads < 1)) return false;
        const int64_t size = flat ? shapeOf(q)[2] / heads : shapeOf(q)[3];
        const float scale = node.getFloat("scale", 1 / std::sqrt(static_cast<float>(size)));
        const int product =
            emit("MatMul", {splitHeads(q, heads), transpose(splitHeads(k, heads), {0, 1, 3, 2})});
        int scores = emit("Mul", {product, m_graph.addConstant("scale", Tensor::scalar(scale))});
        if (node.input(3) != kAbsent) scores = emit("Add", {scores, node.inputs[3]});
        const int probabilities = emit("Softmax", {scores});
        m_graph.nodes.back().set("axis", -1);
        if (!flat) {
            emit("MatMul", {probabilities, splitHeads(v, heads)}, node.outputs[0]);
            return true;
        }
        const int mixed = transpose(emit("MatMul", {probabilities, splitHeads(v, heads)}), {0, 2, 1, 3});
        reshape(mixed, {0, 0, -1}, node.outputs[0]);
        return true;
    }

    static bool isFusedMatMul(const Node& node) {
        return node.domain == "mpm.internal" && node.op == "FusedMatMul";
    }

    // Swaps the last two axes. Transposes a constant without a node, so that the result can become a weight.
    int swapLastAxes(int value) {
        const size_t rank = shapeOf(value).size();
        if (m_graph.isConstant(value) && rank == 2)
            return m_graph.addConstant(m_graph.values[value].name + ".t",
                                       m_graph.constant(value).transposed());
        List<int64_t> order = counted(rank);
        std::swap(order[rank - 1], order[rank - 2]);
        return transpose(value, order);
    }

    // Returns operand k of a FusedMatMul in the layout of a MatMul; adds at most one Transpose. In the node,
    // the batch may follow the rows ([M, B, K] instead of [B, M, K]), and the matrix may be transposed.
    int fusedOperand(const Node& node, size_t k) {
        const int value = node.inputs[k];
        const bool matrix = node.getInt(k == 0 ? "transA" : "transB", 0) != 0;
        const bool batch = node.getInt(k == 0 ? "transBatchA" : "transBatchB", 0) != 0;
        if (!batch || shapeOf(value).size() < 3) return matrix ? swapLastAxes(value) : value;
        List<int64_t> order = counted(shapeOf(value).size());
        std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
        if (matrix) std::swap(order[order.size() - 1], order[order.size() - 2]);
        return transpose(value, order);
    }

    bool expandFusedMatMul(const Node& node) {
        const int left = fusedOperand(node, 0), right = fusedOperand(node, 1);
        const float alpha = node.getFloat("alpha", 1);
        if (alpha == 1) {
            emit("MatMul", {left, right}, node.outputs[0]);
        } else {
            const int factor = m_graph.addConstant("alpha", Tensor::scalar(alpha));
            emit("Mul", {emit("MatMul", {left, right}), factor}, node.outputs[0]);
        }
        return true;
    }

    // The letters of an Einsum's equation, each an axis. `both`: axes of both operands and the result.
    // `summed`: axes that the result lacks. `left`, `right`: axes of the result and of a single operand.
    struct Letters {
        std::string both, summed, left, right;
    };

    static bool sortLetters(const std::string& a, const std::string& b, const std::string& out,
                            Letters& letters) {
        for (char c : a) {
            const bool inB = b.find(c) != std::string::npos, inOut = out.find(c) != std::string::npos;
            if (!inB && !inOut) return false;
            (inB && inOut ? letters.both : inB ? letters.summed : letters.left) += c;
        }
        for (char c : b) {
            if (a.find(c) != std::string::npos) continue;
            if (out.find(c) == std::string::npos) return false;
            letters.right += c;
        }
        return !letters.summed.empty();
    }

    // Returns the operand with its axes in the order `order`, and joins the last `joined` axes.
    int arrange(int value, const std::string& names, const std::string& order, size_t joined) {
        List<int64_t> perm;
        for (char c : order)
            perm.push_back(static_cast<int64_t>(names.find(c)));
        const int moved = perm == counted(perm.size()) ? value : transpose(value, perm);
        if (joined < 2) return moved;
        List<int64_t> shape(order.size() - joined, 0);
        shape.push_back(-1);
        return reshape(moved, shape);
    }

    // Returns a constant operand as a matrix [summed, right]. An axis of this matrix may join the axes of
    // several letters.
    int weight(int value, const std::string& names, const Letters& letters) {
        const int moved = arrange(value, names, letters.summed + letters.right, 0);
        int64_t depth = 1;
        for (char c : letters.summed)
            depth = checkedProduct<int64_t>(depth, shapeOf(value)[names.find(c)]);
        return reshape(moved, {depth, -1});
    }

    bool expandEinsum(const Node& given) {
        Node node = given;
        std::string equation = node.getString("equation", "");
        equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
        const size_t comma = equation.find(','), arrow = equation.find("->");
        if (node.inputs.size() != 2 || comma == std::string::npos || arrow == std::string::npos ||
            equation.find('.') != std::string::npos)
            return false;
        std::string a = equation.substr(0, comma), b = equation.substr(comma + 1, arrow - comma - 1);
        const std::string out = equation.substr(arrow + 2);
        Letters letters;
        if (!sortLetters(a, b, out, letters) || letters.left.empty() || letters.right.empty()) return false;
        if (letters.left.size() > 1 && letters.right.size() == 1 && !m_graph.isConstant(node.inputs[1])) {
            std::swap(a, b);  // only the right operand may have several axes that the left lacks
            std::swap(node.inputs[0], node.inputs[1]);
            letters = {};
            sortLetters(a, b, out, letters);
        }
        const bool weighted = m_graph.isConstant(node.inputs[1]) && letters.both.empty();
        if (!weighted && (letters.left.size() != 1 || letters.summed.size() != 1)) return false;
        const int left =
            arrange(node.inputs[0], a, letters.both + letters.left + letters.summed, letters.summed.size());
        const int right = weighted ? weight(node.inputs[1], b, letters)
                                   : arrange(node.inputs[1], b, letters.both + letters.summed + letters.right,
                                             letters.right.size());
        int product = emit("MatMul", {left, right});
        if (letters.right.size() > 1) {
            List<int64_t> shape(letters.both.size() + letters.left.size(), 0);
            for (char c : letters.right)
                shape.push_back(shapeOf(node.inputs[1])[b.find(c)]);
            product = reshape(product, shape);
        }
        const std::string made = letters.both + letters.left + letters.right;
        List<int64_t> perm;
        for (char c : out)
            perm.push_back(static_cast<int64_t>(made.find(c)));
        if (made == out) {
            m_graph.nodes.back().outputs[0] = node.outputs[0];
        } else {
            transpose(product, perm, node.outputs[0]);
        }
        return true;
    }

    Graph& m_graph;
    const Inferred& m_inferred;
    std::string m_name;
};

// The pass that replaces an exported unfold with a Reshape and a Transpose. The export has a Gather of rows
// and a Gather of columns. The constant indices of each Gather, [size, count] or [count, size], cut an axis
// into `count` parts of `size` elements.
class PatchCutter {
public:
    PatchCutter(Graph& graph, const Inferred& inferred) : m_graph(graph), m_inferred(inferred) {}

    void run() {
        List<Node> old;
        old.swap(m_graph.nodes);
        for (Node& node : old) {
            if (padsNothing(node)) m_unpadded[node.outputs[0]] = node.inputs[0];
            if (!node.is("Gather") || !cut(node)) m_graph.nodes.push_back(std::move(node));
        }
        m_graph.arrange();
    }

private:
    struct Part {
        size_t axis;  // of the source
        int64_t count, size;
        bool sizeFirst;
    };
    struct Patches {
        int source = kAbsent;
        Shape shape;       // of the source
        List<Part> parts;  // sorted by axis
    };

    bool padsNothing(const Node& node) const {
        if (!node.is("Pad")) return false;
        const List<int64_t> sizes = listOf(m_inferred, node, 1, "pads");
        return !sizes.empty() &&
               std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 0; });
    }

    bool cut(const Node& node) {
        if (static_cast<size_t>(node.inputs[0]) >= m_inferred.values.size()) return false;
        const Shape& shape = m_inferred.values[node.inputs[0]].shape();
        const auto before = m_patches.find(node.inputs[0]);
        const auto unpadded = m_unpadded.find(node.inputs[0]);
        Patches patches{unpadded != m_unpadded.end() ? unpadded->second : node.inputs[0], shape, {}};
        if (before != m_patches.end()) patches = before->second;
        auto axis = static_cast<size_t>(node.axis(0, shape.size()));
        const auto part = partOf(node, shape, axis);
        if (!part || axis == 0) return false;
        for (const Part& other : patches.parts) {
            if (axis <= other.axis + 1) return false;
            --axis;
        }
        const int64_t whole = part->count * part->size;
        if (whole < patches.shape[axis]) shorten(node, patches, axis, whole);
        patches.parts.push_back({axis, part->count, part->size, part->sizeFirst});
        emit(node, patches);
        m_patches[node.outputs[0]] = patches;
        return true;
    }

    // Removes the elements at the end of the axis that do not fill a patch.
    void shorten(const Node& at, Patches& patches, size_t axis, int64_t whole) {
        const auto one = [&](int64_t value) { return m_graph.addConstant("cut", Tensor::vector({value})); };
        const int cut = m_graph.addValue(at.name + ".whole");
        m_graph.add("Slice", {patches.source, one(0), one(whole), one(static_cast<int64_t>(axis))}, cut, {},
                    at.name);
        patches.source = cut;
        patches.shape[axis] = whole;
    }

    // Returns how the indices cut the axis into equal parts; nothing if the indices do something else.
    std::optional<Part> partOf(const Node& node, const Shape& shape, size_t axis) const {
        const Tensor& index = m_inferred.values[node.inputs[1]];
        const bool usable = m_inferred.values[node.outputs[0]].isFloat() &&
                            m_graph.isConstant(node.inputs[1]) && index.rank() == 2 && !index.isFloat();
        if (!usable || axis >= shape.size() || index.size() > shape[axis] || index.size() < 2)
            return std::nullopt;
        const int64_t rows = index.dim(0), columns = index.dim(1);
        bool straight = true, turned = true;
        for (int64_t k = 0; k < index.size(); ++k) {
            straight &= index.i()[k] == k;
            turned &= index.i()[k] == k / columns + k % columns * rows;
        }
        if (!straight && !turned) return std::nullopt;
        return straight ? Part{axis, rows, columns, false} : Part{axis, columns, rows, true};
    }

    void emit(const Node& at, const Patches& patches) {
        List<int64_t> sizes, order;
        size_t next = 0;
        for (size_t axis = 0; axis < patches.shape.size(); ++axis) {
            const int64_t place = static_cast<int64_t>(sizes.size());
            if (next == patches.parts.size() || patches.parts[next].axis != axis) {
                sizes.push_back(axis == 0 ? 0 : patches.shape[axis]);  // 0 keeps a dynamic batch
                order.push_back(place);
                continue;
            }
            const Part& part = patches.parts[next++];
            sizes.insert(sizes.end(), {part.count, part.size});
            order.push_back(place + (part.sizeFirst ? 1 : 0));
            order.push_back(place + (part.sizeFirst ? 0 : 1));
        }
        const int target = m_graph.addConstant("patches", Tensor::vector(sizes));
        const int cut = m_graph.addValue(at.name + ".patches");
        m_graph.add("Reshape", {patches.source, target}, cut, {}, at.name);
        m_graph.add("Transpose", {cut}, at.outputs[0], {}, at.name).set("perm", order);
    }

    Graph& m_graph;
    const Inferred& m_inferred;
    std::map<int, Patches> m_patches;  // by value
    std::map<int, int> m_unpadded;
};

}  // namespace

void cutPatches(Graph& graph, const Inferred& inferred) {
    PatchCutter(graph, inferred).run();
}

void expandComposites(Graph& graph, const Inferred& inferred) {
    Expander(graph, inferred).run();
}

}  // namespace mpm::models

#include <algorithm>

#include "models/onnx/ir/norm.hpp"
#include "models/onnx/layers/layers.hpp"

namespace mpm::models {
namespace {

class Standardiser {
public:
    Standardiser(Graph& graph, const Shapes& shapes)
        : m_graph(graph), m_shapes(shapes), m_original(shapes.at.values.size()) {}

    void run() {
        List<Node> old;
        old.swap(m_graph.nodes);
        for (Node& node : old) {
            if (!rewrite(node)) m_graph.nodes.push_back(std::move(node));
        }
        m_graph.arrange();
        m_graph.opset = 18;
    }

private:
    bool isOriginal(const Node& node) const {
        return !node.outputs.empty() && node.outputs[0] != kAbsent &&
               node.outputs[0] < static_cast<int>(m_original) &&
               m_shapes.at.values[node.outputs[0]].type() != Type::None && node.domain != "mpm";
    }

    int ints(const List<int64_t>& values) { return m_graph.addConstant("ints", Tensor::vector(values)); }

    void push(const std::string& op, const List<int>& inputs, int output, const Node& like,
              const List<std::string>& keep = {}) {
        Node& node = m_graph.add(op, inputs, output, {}, like.name);
        for (const std::string& key : keep) {
            const auto found = like.attributes.find(key);
            if (found != like.attributes.end()) node.attributes[key] = found->second;
        }
    }

    // If the node must be written differently in opset 18, replaces it and returns true.
    bool rewrite(Node& node) {
        if (isLinear(&node)) return writeLinear(node);
        if (node.is(namesOf(NormKind::Rms).onnx) && node.input(1) != kAbsent) return writeRmsNorm(node);
        if (!isOriginal(node)) return false;
        if (node.isAny({"Squeeze", "Unsqueeze", "Flatten", "Reshape"}) && writeReshape(node)) return true;
        if (node.is("Split")) return writeSplit(node);
        if (node.op.rfind("Reduce", 0) == 0 && node.has("axes")) return writeReduction(node);
        if (node.is("Slice") && node.has("starts")) return writeSlice(node);
        if (node.is("Clip") && (node.has("min") || node.has("max"))) return writeClip(node);
        if (node.is("Softmax") && m_graph.opset < 13) return writeSoftmax(node);
        if (node.is("Gelu")) return writeGelu(node);
        if (node.is("Swish")) return writeSwish(node);
        if (node.is("Resize")) node.attributes.erase("nearest_mode");
        if (node.is("Upsample") || (node.is("Resize") && m_graph.opset < 11)) {
            throw Refusal(m_graph.describe(node) +
                          " is of an old opset: the layers form needs opset 11 or later");
        }
        return false;
    }

    bool writeLinear(const Node& node) {
        if (node.inputs.size() < 3) {
            push("MatMul", node.inputs, node.outputs[0], node);
            return true;
        }
        const int product = m_graph.addValue(m_graph.values[node.outputs[0]].name + ".product");
        push("MatMul", {node.inputs[0], node.inputs[1]}, product, node);
        push("Add", {product, node.inputs[2]}, node.outputs[0], node);
        return true;
    }

    bool writeReshape(const Node& node) {
        const Shape& shape = m_shapes.of(node.outputs[0]);
        if (std::count(shape.begin(), shape.end(), 0) > 0) return false;
        push("Reshape", {node.inputs[0], ints({shape.begin(), shape.end()})}, node.outputs[0], node);
        return true;
    }

    bool writeSplit(Node& node) {
        List<int64_t> sizes;
        for (int out : node.outputs) {
            const Shape& shape = m_shapes.of(out);
            sizes.push_back(shape[node.axis(0, shape.size())]);
        }
        push("Split", {node.inputs[0], ints(sizes)}, node.outputs[0], node, {"axis"});
        m_graph.nodes.back().outputs = node.outputs;
        return true;
    }

    bool writeReduction(const Node& node) {
        push(node.op, {node.inputs[0], ints(node.getInts("axes"))}, node.outputs[0], node, {"keepdims"});
        return true;
    }

    bool writeSlice(const Node& node) {
        List<int> inputs{node.inputs[0], ints(node.getInts("starts")), ints(node.getInts("ends"))};
        if (node.has("axes")) inputs.push_back(ints(node.getInts("axes")));
        push("Slice", inputs, node.outputs[0], node);
        return true;
    }

    bool writeClip(const Node& node) {
        const int low = m_graph.addConstant("low", Tensor::scalar(node.getFloat("min", -3.4e38f)));
        const int high = m_graph.addConstant("high", Tensor::scalar(node.getFloat("max", 3.4e38f)));
        push("Clip", {node.inputs[0], low, high}, node.outputs[0], node);
        return true;
    }

    bool writeSoftmax(Node& node) {
        const int64_t rank = static_cast<int64_t>(m_shapes.of(node.inputs[0]).size());
        const int64_t axis = node.getInt("axis", 1);
        if (axis != -1 && axis != rank - 1) throw Refusal(m_graph.describe(node) + " runs over several axes");
        push("Softmax", node.inputs, node.outputs[0], node);
        m_graph.nodes.back().set("axis", -1);
        return true;
    }

    int step(const std::string& op, const List<int>& inputs, const Node& like) {
        const int value = m_graph.addValue(m_graph.values[like.outputs[0]].name + "." + op);
        push(op, inputs, value, like);
        return value;
    }

    int number(float value) { return m_graph.addConstant("number", Tensor::scalar(value)); }

    // Writes the Gelu of opset 20 as x / 2 * (1 + erf(x / sqrt 2)), or as the approximation with tanh.
    bool writeGelu(const Node& node) {
        const int x = node.inputs[0];
        int curve = kAbsent;
        if (node.getString("approximate", "none") == "tanh") {
            const int square = step("Mul", {x, x}, node), cube = step("Mul", {square, x}, node);
            const int sum = step("Add", {x, step("Mul", {cube, number(0.044715f)}, node)}, node);
            curve = step("Tanh", {step("Mul", {sum, number(0.797884561f)}, node)}, node);
        } else {
            curve = step("Erf", {step("Mul", {x, number(0.707106781f)}, node)}, node);
        }
        const int half = step("Mul", {x, number(0.5f)}, node);
        push("Mul", {half, step("Add", {curve, number(1)}, node)}, node.outputs[0], node);
        return true;
    }

    // Writes the RMSNormalization of opset 23 as x / sqrt(mean(x * x) + epsilon) * weight.
    bool writeRmsNorm(const Node& node) {
        const int x = node.inputs[0];
        const int mean = step("ReduceMean", {step("Mul", {x, x}, node), ints({-1})}, node);
        const int sum = step("Add", {mean, number(ruleOf(node)->epsilon)}, node);
        int y = step("Div", {x, step("Sqrt", {sum}, node)}, node);
        if (node.input(2) != kAbsent) y = step("Mul", {y, node.inputs[1]}, node);
        const bool shifts = node.input(2) != kAbsent;
        push(shifts ? "Add" : "Mul", {y, node.inputs[shifts ? 2 : 1]}, node.outputs[0], node);
        return true;
    }

    // Writes the Swish of opset 24 as x * sigmoid(alpha * x).
    bool writeSwish(const Node& node) {
        const int scaled = step("Mul", {node.inputs[0], number(node.getFloat("alpha", 1))}, node);
        push("Mul", {node.inputs[0], step("Sigmoid", {scaled}, node)}, node.outputs[0], node);
        return true;
    }

    Graph& m_graph;
    const Shapes& m_shapes;
    const size_t m_original;
};

}  // namespace

void standardise(State& state) {
    Standardiser(state.graph, state.shapes).run();
}

}  // namespace mpm::models

#include "models/onnx/fused/insert.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/list.hpp"
#include "models/onnx/ir/norm.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

class Activations {
public:
    Activations(Graph& graph, const Shapes& shapes) : m_graph(graph), m_shapes(shapes), m_rewriter(graph) {}

    void join() {
        for (size_t n = 0; n < m_graph.nodes.size(); ++n) {
            if (!m_graph.nodes[n].is("Erf") && !m_graph.nodes[n].is("Tanh")) continue;
            checkTime();
            joinAround(static_cast<int>(n));
        }
    }

private:
    static constexpr int kSteps = 6;  // largest number of nodes from the Erf or Tanh to input or result

    bool byElement(const Node& node) const {
        return node.outputs.size() == 1 &&
               node.isAny({"Add", "Div", "Erf", "Mul", "Neg", "Pow", "Sub", "Tanh"});
    }

    void joinAround(int curve) {
        const bool tanh = m_graph.nodes[curve].is("Tanh");
        for (const int input : reached(m_graph.nodes[curve].inputs[0], false)) {
            for (const int output : reached(m_graph.nodes[curve].outputs[0], true)) {
                if (!known(input) || !known(output) || m_shapes.of(input) != m_shapes.of(output)) continue;
                if (!isGelu(input, output, tanh)) continue;
                Node& last = m_graph.nodes[m_graph.values[output].producer];
                last.op = "Gelu";
                last.inputs = {input};
                last.attributes.clear();
                if (tanh) last.set("approximate", "tanh");
                m_rewriter.refresh();
                return;
            }
        }
    }

    // Returns `value` and the values at most kSteps nodes before it (its inputs) or, if `forwards` is true,
    // after it (its users).
    List<int> reached(int value, bool forwards) const {
        List<int> all{value}, edge{value};
        for (int step = 0; step < kSteps; ++step) {
            List<int> next;
            for (const int v : edge) {
                for (const int found : forwards ? after(v) : before(v)) {
                    if (std::find(all.begin(), all.end(), found) != all.end()) continue;
                    all.push_back(found);
                    next.push_back(found);
                }
            }
            edge = next;
        }
        return all;
    }

    List<int> before(int value) const {
        const Node* node = m_graph.nodeOf(value);
        List<int> found;
        if (!node || !byElement(*node)) return found;
        for (const int in : node->inputs)
            if (in != kAbsent && !m_graph.isConstant(in)) found.push_back(in);
        return found;
    }

    List<int> after(int value) const {
        List<int> found;
        for (const int n : m_rewriter.usersOf(value))
            if (byElement(m_graph.nodes[n])) found.push_back(m_graph.nodes[n].outputs[0]);
        return found;
    }

    bool known(int value) const { return value < static_cast<int>(m_shapes.at.values.size()); }

    bool isGelu(int input, int output, bool tanh) const {
        const auto count = static_cast<int64_t>(activationProbes().size());
        std::map<int, Tensor> values{{input, Tensor::floats({count}, activationProbes())}};
        const std::optional<Tensor> result = valueOf(output, values, 3 * kSteps);
        if (!result || result->size() != count) return false;
        for (int64_t k = 0; k < count; ++k) {
            const float expected = kActivations[tanh ? 1 : 0].of(activationProbes()[k]);
            // The tolerance excludes a GELU with constants in half precision, so its nodes remain.
            if (!(std::abs(result->f()[k] - expected) <= 1e-5f * std::max(1.f, std::abs(expected))))
                return false;
        }
        return true;
    }

    std::optional<Tensor> valueOf(int value, std::map<int, Tensor>& values, int depth) const {
        const auto found = values.find(value);
        if (found != values.end()) return found->second;
        const double number = m_rewriter.scalar(value);
        if (!std::isnan(number)) return Tensor::floats({1}, static_cast<float>(number));
        const Node* node = m_graph.nodeOf(value);
        if (!node || !byElement(*node) || depth == 0) return std::nullopt;
        List<Tensor> inputs;
        for (const int in : node->inputs) {
            const std::optional<Tensor> operand = valueOf(in, values, depth - 1);
            if (!operand) return std::nullopt;
            inputs.push_back(*operand);
        }
        try {
            return values[value] = evaluateNode(m_graph, *node, inputs).at(0);
        } catch (const Refusal&) {  // the node does not accept a vector of probes
            return std::nullopt;
        }
    }

    Graph& m_graph;
    const Shapes& m_shapes;
    Rewriter m_rewriter;
};

// OpenCV is slow at Slices and Concats along a short last axis, such as [..., 2] for even and odd entries.
// Moves such an axis to the front with an MpmTranspose.
class ThinAxes {
public:
    explicit ThinAxes(Graph& graph) : m_graph(graph), m_rewriter(graph) {}

    void turn() {
        std::map<int, int> turned;  // from the input of a Slice to its transpose
        const size_t count = m_graph.nodes.size();
        for (size_t n = 0; n < count; ++n) {
            if (m_graph.nodes[n].is("Slice")) turnSlice(n, turned);
            if (m_graph.nodes[n].is("Concat")) turnConcat(n);
        }
        m_graph.arrange();
        m_graph.prune();
    }

private:
    static constexpr int64_t kLeast = 1 << 10;  // elements; OpenCV copies smaller values in microseconds
    static constexpr int64_t kMostEntries = 4;  // of the last axis; with more entries, a Slice is faster

    // Returns the sizes that a Reshape gives to the value; empty if they are unknown or the value is small.
    List<int64_t> sizesOf(int value) const {
        const Node* node = m_graph.nodeOf(value);
        if (!node || !node->is("Reshape") || !m_graph.isConstant(node->inputs[1])) return {};
        List<int64_t> sizes = m_graph.constant(node->inputs[1]).toInts();
        int64_t elements = 1;
        for (const int64_t size : sizes) {
            if (size == 0) return {};  // 0 copies the input's size, which is unknown here
            if (size > 0 && elements < kLeast)
                elements *= std::min(size, kLeast);  // fits: both factors are at most kLeast
        }
        return elements < kLeast ? List<int64_t>() : sizes;
    }

    int ints(const List<int64_t>& numbers) { return m_graph.addConstant("ints", Tensor::vector(numbers)); }

    void turnSlice(size_t n, std::map<int, int>& turned) {
        const Node& slice = m_graph.nodes[n];
        const int from = slice.inputs[0];
        const List<int64_t> sizes = sizesOf(from);
        const auto last = static_cast<int64_t>(sizes.size()) - 1;
        const auto number = [&](size_t input) {
            const bool one = slice.inputs.size() == 4 && m_graph.isConstant(slice.inputs[input]) &&
                             m_graph.constant(slice.inputs[input]).size() == 1;
            return one ? m_graph.constant(slice.inputs[input]).toInts()[0] : -2;
        };
        if (last < 1 || sizes.back() > kMostEntries || number(3) != last || number(1) < 0 ||
            number(2) != number(1) + 1)
            return;
        for (const int user : m_rewriter.usersOf(slice.outputs[0]))
            if (!m_graph.nodes[user].is("Reshape") || sizesOf(m_graph.nodes[user].outputs[0]).empty()) return;
        if (m_rewriter.isOutput(slice.outputs[0])) return;
        if (turned.count(from) == 0) {
            List<int64_t> order{last};
            for (int64_t k = 0; k < last; ++k)
                order.push_back(k);
            turned[from] = m_graph.addValue(m_graph.values[from].name + ".turned");
            m_graph.add("MpmTranspose", {from}, turned[from], "mpm").set("perm", order);
        }
        Node& changed = m_graph.nodes[n];  // add() may move the nodes
        changed.inputs = {turned[from], changed.inputs[1], changed.inputs[2], ints({0})};
    }

    void turnConcat(size_t n) {
        const List<int> parts = m_graph.nodes[n].inputs;
        List<int64_t> sizes = sizesOf(parts[0]);
        const auto last = static_cast<int64_t>(sizes.size()) - 1;
        if (last < 1 || sizes.back() != 1 || m_graph.nodes[n].axis(0, sizes.size()) != last) return;
        for (const int part : parts)
            if (sizesOf(part) != sizes) return;
        sizes.pop_back();
        sizes.insert(sizes.begin(), 1);
        List<int> rows;
        for (const int part : parts) {
            rows.push_back(m_graph.addValue(m_graph.values[part].name + ".row"));
            m_graph.add("Reshape", {m_graph.nodeOf(part)->inputs[0], ints(sizes)}, rows.back());
        }
        List<int64_t> order;
        for (int64_t k = 1; k <= last; ++k)
            order.push_back(k);
        order.push_back(0);
        const int output = m_graph.nodes[n].outputs[0];
        const int turned = m_graph.addValue(m_graph.values[output].name + ".turned");
        m_graph.nodes[n].inputs = rows;
        m_graph.nodes[n].set("axis", 0);
        m_graph.nodes[n].outputs = {turned};
        m_graph.values[turned].producer = static_cast<int>(n);
        m_graph.add("MpmTranspose", {turned}, output, "mpm").set("perm", order);
    }

    Graph& m_graph;
    Rewriter m_rewriter;
};

class Layers {
public:
    explicit Layers(Graph& graph)
        : m_graph(graph), m_rewriter(graph), m_ofVersion3(domainVersion(graph) > 2) {}

    void join() {
        shareReshapes();
        if (m_ofVersion3) {
            ThinAxes(m_graph).turn();
            m_rewriter.refresh();
            joinSilus();
        }
        for (Node& node : m_graph.nodes) {
            if (node.domain != "mpm") continue;
            joinTransposes(node);
            if (node.op == "MpmConvTranspose" || (m_ofVersion3 && node.op == "MpmLinear"))
                joinActivation(node);
        }
        m_graph.prune();
    }

private:
    // If several Reshapes of a value give the same shape, keeps a single Reshape, because OpenCV copies the
    // value for each Reshape.
    void shareReshapes() {
        std::map<std::pair<int, List<int64_t>>, int> known;
        for (Node& node : m_graph.nodes) {
            if (!node.is("Reshape") || !m_graph.isConstant(node.inputs[1])) continue;
            const auto key = std::make_pair(node.inputs[0], m_graph.constant(node.inputs[1]).toInts());
            const int output = node.outputs[0], shared = known.emplace(key, output).first->second;
            if (shared != output && !m_rewriter.isOutput(output)) m_rewriter.replace(output, shared);
        }
        m_graph.prune();
        m_rewriter.refresh();
    }

    // Replaces x * sigmoid(x) with an MpmFunction.
    void joinSilus() {
        for (const Node& sigmoid : m_graph.nodes) {
            const int user = sigmoid.is("Sigmoid") ? m_rewriter.soleUser(sigmoid.outputs[0]) : kAbsent;
            if (user == kAbsent) continue;
            Node& product = m_graph.nodes[user];
            const int x = sigmoid.inputs[0];
            if (!product.is("Mul") || Rewriter::otherOperand(product, x) != sigmoid.outputs[0]) continue;
            product.op = "MpmFunction";
            product.domain = "mpm";
            product.inputs = {x};
            product.set("function", "silu");
        }
        m_graph.prune();
        m_rewriter.refresh();
    }

    // Returns the only node that reads the output of `node`; null if there is no such node.
    Node* next(const Node& node) {
        const int user = m_rewriter.soleUser(node.outputs[0]);
        return user == kAbsent ? nullptr : &m_graph.nodes[user];
    }

    static bool turns(const Node* node, const List<int64_t>& order) {
        return node && (node->op == "Transpose" || node->op == "MpmTranspose") &&
               node->getInts("perm") == order;
    }

    static bool isOfPixels(const Node& node) {
        return node.domain == "mpm" && isOneOf(node.op, {"MpmLayerNorm", "MpmLinear", "MpmFunction"});
    }

    // If a transpose in front of a chain of nodes puts the channels last, and a transpose behind the chain
    // puts the channels back, removes both transposes.
    void joinTransposes(Node& first) {
        if (!isOfPixels(first) || first.inputs.empty()) return;
        const Node* before = m_graph.nodeOf(first.inputs[0]);
        if (!turns(before, {0, 2, 3, 1})) return;
        List<Node*> chain{&first};
        Node* behind = next(first);
        for (; behind && isOfPixels(*behind); behind = next(*behind))
            chain.push_back(behind);
        if (!turns(behind, {0, 3, 1, 2})) return;
        first.inputs[0] = before->inputs[0];
        for (Node* node : chain)
            takeChannelsFirst(*node);
        m_rewriter.takeOver(*chain.back(), *behind);
    }

    void takeChannelsFirst(Node& node) {
        if (node.op == "MpmLayerNorm") node.set("axis", 1);
        if (node.op != "MpmLinear") return;
        const Tensor rows = m_graph.constant(node.inputs[1]).transposed();
        node.op = "MpmConv";
        node.inputs[1] = m_graph.addConstant(m_graph.values[node.inputs[1]].name + ".rows",
                                             rows.reshaped({rows.dim(0), rows.dim(1), 1, 1}));
    }

    void joinActivation(Node& layer) {
        Node* behind = next(layer);
        const std::string function = behind ? activationOf(*behind) : "";
        if (function.empty() || (function == "relu" && !m_ofVersion3)) return;
        layer.set("activation", function);
        m_rewriter.takeOver(layer, *behind);
    }

    Graph& m_graph;
    Rewriter m_rewriter;
    const bool m_ofVersion3;
};

}  // namespace

void joinActivations(Graph& graph, const Shapes& shapes) {
    Activations(graph, shapes).join();
}

std::string activationOf(const Node& node) {
    if (node.is("Relu")) return "relu";
    if (node.domain != "mpm" || node.op != "MpmFunction") return "";
    const std::string function = node.getString("function", "");
    return isOneOf(function, {"gelu", "gelu_tanh", "relu", "silu"}) ? function : "";
}

void joinLayers(Graph& graph) {
    Layers(graph).join();
}

}  // namespace mpm::models

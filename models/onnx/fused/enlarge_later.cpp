// The pass enlargeLater(): convolutions multiply small channels, and then enlarge the products.
#include <algorithm>

#include "models/onnx/fused/insert.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

// Estimated limits. With fewer channels or a smaller gain, the enlargement of the products may take more time
// than the pass saves.
constexpr int64_t kLeastChannels = 64, kLeastGain = 3;  // kLeastGain: enlarged pixels for each old pixel

/// A part of a convolution's input channels.
struct Part {
    int value;
    int64_t first, channels;
    const Node* resize;  // the node that enlarges the part; null if the part is not enlarged
};

class Enlargements {
public:
    Enlargements(Graph& graph, const Shapes& shapes) : m_graph(graph), m_shapes(shapes), m_rewriter(graph) {}

    void move() {
        while (moveNext()) {
            m_graph.arrange();
            m_rewriter.refresh();
        }
    }

private:
    /// Splits the first convolution that can be split. Returns false if there is none.
    bool moveNext() {
        for (Node& node : m_graph.nodes) {
            checkTime();
            if (!mayTake(node)) continue;
            const List<Part> parts = partsOf(node);
            const bool sumLast = node.getString("residual", "none") == "last";
            if (std::none_of(parts.begin(), parts.end(), [](const Part& part) { return part.resize; }) ||
                (sumLast && parts.size() > 1))
                continue;
            split(node, parts);
            return true;
        }
        return false;
    }

    bool mayTake(const Node& node) const {
        return node.domain == "mpm" && node.op == "MpmConv" && !node.has("stride") && !node.has("groups") &&
               !node.has("input_activation") && !node.has("size") &&
               m_graph.isConstant(node.inputs[weightOf(node)]);
    }

    static int weightOf(const Node& convolution) {
        return convolution.getString("residual", "none") == "none" ? 1 : 2;
    }

    /// Returns the shape; empty if the value was added after the shapes were inferred.
    Shape shapeOf(int value) const {
        return value < static_cast<int>(m_shapes.at.values.size()) ? m_shapes.of(value) : Shape{};
    }

    /// Returns the MpmResize that gives `value` if a convolution should precede this MpmResize; else null.
    const Node* enlarging(int value, int64_t channels) const {
        const Node* node = m_graph.nodeOf(value);
        if (!node || node->domain != "mpm" || node->op != "MpmResize" || node->has("crop") ||
            node->getInt("argmax", 0) != 0 || channels < kLeastChannels)
            return nullptr;
        const Shape from = shapeOf(node->inputs[0]);
        const List<int64_t> to = node->getInts("size");
        const bool large = from.size() == 4 && to.size() == 2 && to[0] >= from[2] && to[1] >= from[3] &&
                           static_cast<double>(to[0]) * static_cast<double>(to[1]) >=
                               kLeastGain * static_cast<double>(from[2]) * static_cast<double>(from[3]);
        return large ? node : nullptr;
    }

    List<Part> partsOf(const Node& convolution) const {
        const int x = convolution.inputs[0];
        const int64_t channels = m_graph.constant(convolution.inputs[weightOf(convolution)]).dim(1);
        const Node* concat = m_graph.nodeOf(x);
        if (!concat || !concat->is("Concat") || concat->getInt("axis", 0) != 1 ||
            m_rewriter.soleUser(x) == kAbsent)
            return {{x, 0, channels, enlarging(x, channels)}};
        List<Part> parts;
        int64_t first = 0;
        for (const int value : concat->inputs) {
            const Shape shape = shapeOf(value);
            if (shape.size() != 4 || shape[1] < 1) return {};
            parts.push_back({value, first, shape[1], enlarging(value, shape[1])});
            first += shape[1];
        }
        return first == channels ? parts : List<Part>{};
    }

    // Each enlarged part of the input gets a new convolution. The old convolution keeps the bias, the
    // activation and the other parts (the last part if all are enlarged), and comes last. The first
    // convolution adds the old residual. Each other convolution adds the previous result as its residual.
    void split(Node& convolution, const List<Part>& parts) {
        List<Part> plain, enlarged;
        for (const Part& part : parts)
            (part.resize ? enlarged : plain).push_back(part);
        const Node old = convolution;
        const int at = weightOf(old);
        const Tensor weight = m_graph.constant(old.inputs[at]);  // a copy: addConstant() may move the tensors
        const std::string name = m_graph.values[old.inputs[at]].name;
        int sum = at > 1 ? old.inputs[1] : kAbsent;
        const auto take = [&](Node& node, int x, const Tensor& own, const Part& first) {
            node.inputs = {x};
            if (sum != kAbsent) {
                node.inputs.push_back(sum);
                if (weightOf(node) == 1) node.set("residual", "first");
            }
            node.inputs.push_back(m_graph.addConstant(name + ".from" + std::to_string(first.first), own));
            if (!first.resize) return;
            node.set("size", first.resize->getInts("size"));
            if (first.resize->getInt("align_corners", 0) != 0) node.set("align_corners", 1);
        };
        List<Node> added;
        const size_t before = enlarged.size() - (plain.empty() ? 1 : 0);
        for (size_t k = 0; k < before; ++k) {
            Node node = old;
            node.attributes.erase("activation");
            take(node, enlarged[k].resize->inputs[0], weightsOf({enlarged[k]}, weight), enlarged[k]);
            node.outputs = {sum = m_graph.addValue(m_graph.values[old.outputs[0]].name + ".part")};
            added.push_back(node);
        }
        Node last = old;
        if (plain.empty())
            take(last, enlarged.back().resize->inputs[0], weightsOf({enlarged.back()}, weight),
                 enlarged.back());
        else
            take(last, joined(plain, added), weightsOf(plain, weight), plain.front());
        if (old.input(at + 1) != kAbsent) last.inputs.push_back(old.inputs[at + 1]);
        convolution = last;
        for (const Node& node : added)
            m_graph.nodes.push_back(node);
    }

    int joined(const List<Part>& plain, List<Node>& added) {
        if (plain.size() == 1) return plain[0].value;
        Node concat;
        concat.op = "Concat";
        concat.set("axis", 1);
        for (const Part& part : plain)
            concat.inputs.push_back(part.value);
        concat.outputs = {m_graph.addValue("plain_channels")};
        added.push_back(concat);
        return concat.outputs[0];
    }

    /// Returns the weight for the channels of these parts.
    static Tensor weightsOf(const List<Part>& parts, const Tensor& weight) {
        const int64_t row = weight.size() / weight.dim(0), taps = row / weight.dim(1);
        int64_t channels = 0;
        for (const Part& part : parts)
            channels += part.channels;
        Tensor own(Type::Float, {weight.dim(0), channels, weight.dim(2), weight.dim(3)});
        own.allocate();
        float* to = own.writeF();
        for (int64_t out = 0; out < weight.dim(0); ++out) {
            for (const Part& part : parts)
                to = std::copy_n(weight.f() + out * row + part.first * taps, part.channels * taps, to);
        }
        return own;
    }

    Graph& m_graph;
    const Shapes& m_shapes;
    Rewriter m_rewriter;
};

}  // namespace

void enlargeLater(Graph& graph, const Shapes& shapes) {
    Enlargements(graph, shapes).move();
}

}  // namespace mpm::models

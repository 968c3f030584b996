#include "models/onnx/fused/insert.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

bool isTransposed(const Node& node) {
    return node.domain == "mpm" && node.op == "MpmConvTranspose";
}

class Convolutions {
public:
    explicit Convolutions(Graph& graph)
        : m_graph(graph), m_rewriter(graph), m_takesTransposed(domainVersion(graph) > 2) {}

    void join() {
        bool any = false;
        for (size_t n = 0; n < m_graph.nodes.size(); ++n) {
            if (!isOwnConvolution(m_graph.nodes[n])) continue;
            checkTime();
            any = true;
            joinInput(m_graph.nodes[n]);
            while (joinBehind(m_graph.nodes[n])) {
            }
        }
        keepPrecise();
        limitInt8();
        if (any) m_graph.arrange();  // because a joined sum may add a value that a later node computes
    }

private:
    // Includes transposed convolutions only if the model needs domain version 3 anyway.
    bool isOwnConvolution(const Node& node) const {
        return (node.domain == "mpm" && node.op == "MpmConv") || (m_takesTransposed && isTransposed(node));
    }

    void joinInput(Node& convolution) {
        if (isTransposed(convolution)) return;
        const Node* before = m_graph.nodeOf(convolution.inputs[0]);
        if (!before || !before->is("Relu") || m_rewriter.soleUser(before->outputs[0]) == kAbsent) return;
        convolution.inputs[0] = before->inputs[0];
        convolution.set("input_activation", "relu");
        m_rewriter.refresh();
    }

    bool joinBehind(Node& convolution) {
        const int user = m_rewriter.soleUser(convolution.outputs[0]);
        if (user == kAbsent) return false;
        Node& behind = m_graph.nodes[user];
        return joinNorm(convolution, behind) || joinActivation(convolution, behind) ||
               joinResidual(convolution, behind);
    }

    static bool hasResidual(const Node& convolution, const char* place) {
        return convolution.getString("residual", "none") == place;
    }

    bool mayActivate(const Node& convolution) const {
        return !convolution.has("activation") && !hasResidual(convolution, "last");
    }

    // Moves a BatchNormalization into weights and bias, because it only scales and shifts channels.
    bool joinNorm(Node& convolution, Node& norm) {
        const bool plain = !convolution.has("activation") && hasResidual(convolution, "none");
        if (!norm.is("BatchNormalization") || !plain || norm.outputs.size() != 1 || norm.inputs.size() != 5)
            return false;
        const Tensor& weight = m_graph.constant(convolution.inputs[1]);
        const char* const kernel = convolution.has("kernel") ? "kernel" : "window";  // MpmConvTranspose only
        const int64_t outs = weight.dim(0) / std::max<int64_t>(1, elementCount(convolution.getInts(kernel))),
                      each = weight.size() / std::max<int64_t>(1, outs);
        for (size_t k = 1; k < 5; ++k)
            if (!m_graph.isConstant(norm.inputs[k]) || m_graph.constant(norm.inputs[k]).size() != outs)
                return false;
        const auto value = [&](int k, int64_t out) { return m_graph.constant(norm.inputs[k]).at(out); };
        const double epsilon = norm.getFloat("epsilon", 1e-5f);
        Tensor scaled = Tensor::zeros(Type::Float, weight.shape()), bias(Type::Float, {outs});
        bias.allocate();
        const bool biased = convolution.input(2) != kAbsent;
        for (int64_t out = 0; out < outs; ++out) {
            const double factor = value(1, out) / std::sqrt(value(4, out) + epsilon);
            const double before = biased ? m_graph.constant(convolution.inputs[2]).at(out) : 0;
            bias.writeF()[out] = static_cast<float>((before - value(3, out)) * factor + value(2, out));
            for (int64_t k = out * each; k < (out + 1) * each; ++k)
                scaled.writeF()[k] = static_cast<float>(weight.f()[k] * factor);
        }
        const std::string name = m_graph.values[convolution.inputs[1]].name;
        const int x = convolution.inputs[0];
        convolution.inputs = {x, m_graph.addConstant(name + ".scaled", scaled),
                              m_graph.addConstant(name + ".bias", bias)};
        m_rewriter.takeOver(convolution, norm);
        return true;
    }

    bool joinActivation(Node& convolution, Node& behind) {
        if (!mayActivate(convolution)) return false;
        const std::string function = activationOf(behind);
        if (function.empty()) return false;
        convolution.set("activation", function);
        m_rewriter.takeOver(convolution, behind);
        return true;
    }

    // Joins an Add, whose operands have equal shapes: lower() writes other sums as MpmArithmetic.
    bool joinResidual(Node& convolution, Node& sum) {
        if (!sum.is("Add") || isTransposed(convolution) || !hasResidual(convolution, "none")) return false;
        const int other = Rewriter::otherOperand(sum, convolution.outputs[0]);
        if (other == kAbsent || other == convolution.outputs[0] || m_graph.isConstant(other)) return false;
        convolution.inputs.insert(convolution.inputs.begin() + 1, other);
        convolution.set("residual", convolution.has("activation") ? "last" : "first");
        m_rewriter.takeOver(convolution, sum);
        return true;
    }

    // Sets a convolution or a linear layer to f32 if no layer with weights follows. The layer's results must
    // be precise, because they become scores, boxes, a selection or masks of queries.
    void keepPrecise() {
        OpenValues open({});
        for (const Port& port : m_graph.outputs)
            open.add(port.value);
        for (const Node& node : m_graph.nodes)
            if (isOneOf(node.op, {"MpmTopK", "TopK", "ArgMax"})) open.add(node.inputs[0]);
        for (int value; open.next(value);) {
            const int at = m_graph.values[value].producer;
            if (m_graph.isConstant(value) || at == kAbsent) continue;
            Node& node = m_graph.nodes[at];
            if (isOwnConvolution(node)) {
                node.set("precision", "f32");
                if (!hasResidual(node, "none")) open.add(node.inputs[1]);
            } else if (node.op == "MpmLinear") {
                node.attributes.erase("precision");
            } else if (!hasWeights(node)) {
                open.add(node.inputs);
            }
        }
    }

    // Limits int8 in the encoders of detectors, because int8 would change the scores by more than 0.05.
    // Narrow encoders do not run in int8. In others, the first quarter of the blocks and the projections
    // after attention do not run in plain int8, because errors of these layers change the scores most.
    void limitInt8() {
        constexpr int64_t kLeastWidth = 64;
        const auto selects = [](const Node& node) { return node.op == "MpmTopK"; };
        if (std::none_of(m_graph.nodes.begin(), m_graph.nodes.end(), selects)) return;
        for (Node& node : m_graph.nodes) {
            if (node.op != "MpmEncoder") continue;
            const int64_t blocks = node.getInt("chain_blocks", node.getInt("blocks", 0));
            if (widthOf(node) < kLeastWidth) {
                node.set("int8", 0);
            } else {
                node.set("int8_from", (blocks + 3) / 4);
            }
        }
    }

    // Returns the number of channels of an encoder's tokens.
    int64_t widthOf(const Node& encoder) const {
        std::istringstream names(encoder.getString("inputs", ""));
        std::string name;
        size_t input = 0;
        while (names >> name && name.find("qkv.weight") == std::string::npos)
            ++input;
        return m_graph.constant(encoder.inputs.at(input)).dim(0);
    }

    bool hasWeights(const Node& node) const {
        if (isOneOf(node.op, {"Conv", "ConvTranspose", "MpmConvTranspose", "MpmDeformable", "MpmEmbed",
                              "MpmEncoder", "MpmLinear"}))
            return true;
        return node.op == "MpmMatMul" && std::any_of(node.inputs.begin(), node.inputs.end(),
                                                     [&](int in) { return m_graph.isConstant(in); });
    }

    Graph& m_graph;
    Rewriter m_rewriter;
    const bool m_takesTransposed;
};

}  // namespace

void joinConvolutions(Graph& graph) {
    Convolutions(graph).join();
}

}  // namespace mpm::models

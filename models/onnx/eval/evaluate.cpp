#include "models/onnx/eval/evaluate.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "models/onnx/eval/call.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

List<int> lastUses(const Graph& graph) {
    List<int> last(graph.values.size(), kAbsent);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        for (int in : graph.nodes[n].inputs) {
            if (in != kAbsent) last[in] = static_cast<int>(n);
        }
    }
    for (const Port& port : graph.outputs)
        last[port.value] = static_cast<int>(graph.nodes.size());
    return last;
}

List<Tensor> inputsOf(const Node& node, const List<Tensor>& values) {
    List<Tensor> inputs;
    for (int in : node.inputs)
        inputs.push_back(in == kAbsent ? Tensor() : values[in]);
    return inputs;
}

List<Tensor> startValues(const Graph& graph, const List<Tensor>& inputs) {
    List<Tensor> values(graph.values.size());
    for (size_t v = 0; v < values.size(); ++v)
        values[v] = graph.values[v].constant;
    if (inputs.size() != graph.inputs.size()) throw Refusal("the graph has another number of inputs");
    for (size_t k = 0; k < inputs.size(); ++k)
        values[graph.inputs[k].value] = inputs[k];
    return values;
}

bool isQuantised(const std::string& op) {
    for (const char* part :
         {"uantizeLinear", "QLinear", "QGemm", "MatMulInteger", "ConvInteger", "NBits", "QAttention"}) {
        if (op.find(part) != std::string::npos) return true;
    }
    return false;
}

// Returns whether the shapes of the outputs can be inferred even if the shape of this input cannot. Such an
// input belongs to the branch that a Select does not take, or contains the indices or rows of a ScatterND.
bool shapeFollows(const Node& node, int input) {
    return node.op == "Select" || (node.is("ScatterND") && input != node.inputs[0]);
}

}  // namespace

std::string adviceFor(const Node& node) {
    if (isQuantised(node.op))
        return ": the model is quantised; convert the original export, and run it with --precision i8 for "
               "int8";
    if (node.domain.rfind("com.microsoft", 0) == 0)
        return ": it comes from ONNX Runtime's optimisation; convert the original export";
    if (node.is("NonMaxSuppression"))
        return ": the model is a detector that drops boxes by their overlap; export it without that step";
    return {};
}

List<Tensor> evaluateNode(const Graph& graph, const Node& node, const List<Tensor>& inputs) {
    checkTime();
    const Operator* run = findOperator(node);
    if (!run) {
        const std::string domain = node.domain.empty() ? "" : printable(node.domain, 80) + ".";
        throw Refusal("operator " + domain + graph.describe(node) + " is not supported" + adviceFor(node));
    }
    Call call{node, graph.opset, inputs, {}};
    try {
        (*run)(call);
    } catch (const Refusal& refusal) {
        throw Refusal(graph.describe(node) + ": " + printable(refusal.what()));
    } catch (const SizeError& error) {
        throw Refusal(graph.describe(node) + ": " + error.err);
    } catch (const BudgetError& error) {
        throw BudgetError(graph.describe(node) + ": " + error.err);
    }
    call.out.resize(std::max(call.out.size(), node.outputs.size()));
    return call.out;
}

List<Tensor> evaluate(const Graph& graph, const List<Tensor>& inputs) {
    List<Tensor> values = startValues(graph, inputs);
    const List<int> last = lastUses(graph);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        const List<Tensor> results = evaluateNode(graph, node, inputsOf(node, values));
        for (size_t k = 0; k < node.outputs.size(); ++k) {
            if (node.outputs[k] != kAbsent) values[node.outputs[k]] = results[k];
        }
        for (int in : node.inputs) {
            if (in != kAbsent && last[in] == static_cast<int>(n) && !graph.isConstant(in)) values[in] = {};
        }
    }
    List<Tensor> outputs;
    for (const Port& port : graph.outputs)
        outputs.push_back(values[port.value]);
    return outputs;
}

Inferred infer(const Graph& graph, const List<Tensor>& inputs) {
    Inferred result;
    result.values = startValues(graph, inputs);
    for (const Node& node : graph.nodes) {
        std::string problem;
        for (int in : node.inputs) {
            const auto found = in == kAbsent ? result.problems.end() : result.problems.find(in);
            if (found != result.problems.end() && !shapeFollows(node, in)) problem = found->second;
        }
        List<Tensor> outputs(node.outputs.size());
        try {
            if (problem.empty()) outputs = evaluateNode(graph, node, inputsOf(node, result.values));
        } catch (const Refusal& refusal) {
            problem = refusal.what();
        }
        for (size_t k = 0; k < node.outputs.size(); ++k) {
            const int out = node.outputs[k];
            if (out == kAbsent) continue;
            result.values[out] = outputs[k];
            if (outputs[k].type() == Type::None)
                result.problems[out] = problem.empty() ? "it has no value" : problem;
        }
    }
    return result;
}

List<int64_t> listOf(const Inferred& inferred, const Node& node, size_t input, const char* attribute) {
    const int value = node.input(input);
    return value == kAbsent ? node.getInts(attribute) : inferred.values[value].toInts();
}

bool reducesLastAxis(const Inferred& inferred, const Node& node) {
    const List<int64_t> axes = listOf(inferred, node, 1, "axes");
    return axes.size() == 1 && (axes[0] == -1 || axes[0] == inferred.values[node.inputs[0]].rank() - 1);
}

int64_t peakBytes(const Graph& graph, const Inferred& inferred) {
    const List<int> last = lastUses(graph);
    const auto bytesOf = [&](int value) {
        const bool counts = value != kAbsent && !graph.isConstant(value);
        return counts ? checkedProduct<int64_t>(inferred.values[value].size(), 4) : int64_t{0};
    };
    int64_t held = 0, most = 0;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        for (int out : node.outputs)
            held = checkedSum<int64_t>(held, bytesOf(out));
        int64_t inside = 0;
        // An encoder needs up to 16 times the memory of its tokens, for queries, keys, values, and the hidden
        // rows of the MLP, which are four times as wide as tokens.
        if (node.op == "MpmEncoder") inside = checkedProduct<int64_t>(16, bytesOf(node.input(0)));
        // A transposed convolution also stores a copy of its result.
        if (node.op == "MpmConvTranspose") inside = bytesOf(node.outputs[0]);
        most = std::max(most, checkedSum<int64_t>(held, inside));
        std::set<int> gone;
        for (int in : node.inputs) {
            const bool made = in != kAbsent && graph.values[in].producer != kAbsent;
            if (made && last[in] == static_cast<int>(n) && gone.insert(in).second) held -= bytesOf(in);
        }
    }
    return most;
}

}  // namespace mpm::models

#include "models/onnx/evaluate.hpp"

#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

std::vector<int> lastUses(const Graph& graph) {
    std::vector<int> last(graph.values.size(), kAbsent);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        for (int in : graph.nodes[n].inputs) {
            if (in != kAbsent) last[in] = static_cast<int>(n);
        }
    }
    for (const Port& port : graph.outputs)
        last[port.value] = static_cast<int>(graph.nodes.size());
    return last;
}

std::vector<Tensor> inputsOf(const Node& node, const std::vector<Tensor>& values) {
    std::vector<Tensor> inputs;
    for (int in : node.inputs)
        inputs.push_back(in == kAbsent ? Tensor() : values[in]);
    return inputs;
}

std::vector<Tensor> startValues(const Graph& graph, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> values(graph.values.size());
    for (size_t v = 0; v < values.size(); ++v)
        values[v] = graph.values[v].constant;
    if (inputs.size() != graph.inputs.size()) throw Refusal("the graph has another number of inputs");
    for (size_t k = 0; k < inputs.size(); ++k)
        values[graph.inputs[k].value] = inputs[k];
    return values;
}

}  // namespace

std::vector<Tensor> evaluateNode(const Graph& graph, const Node& node, const std::vector<Tensor>& inputs) {
    const Kernel* kernel = findKernel(node);
    if (!kernel) {
        const std::string domain = node.domain.empty() ? "" : node.domain + ".";
        throw Refusal("operator " + domain + graph.describe(node) + " is not supported");
    }
    Call call{node, graph.opset, inputs, {}};
    try {
        (*kernel)(call);
    } catch (const Refusal& refusal) {
        throw Refusal(graph.describe(node) + ": " + refusal.what());
    }
    call.out.resize(std::max(call.out.size(), node.outputs.size()));
    return call.out;
}

std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> values = startValues(graph, inputs);
    const std::vector<int> last = lastUses(graph);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        const std::vector<Tensor> results = evaluateNode(graph, node, inputsOf(node, values));
        for (size_t k = 0; k < node.outputs.size(); ++k) {
            if (node.outputs[k] != kAbsent) values[node.outputs[k]] = results[k];
        }
        for (int in : node.inputs) {
            if (in != kAbsent && last[in] == static_cast<int>(n) && !graph.isConstant(in)) values[in] = {};
        }
    }
    std::vector<Tensor> outputs;
    for (const Port& port : graph.outputs)
        outputs.push_back(values[port.value]);
    return outputs;
}

Inferred infer(const Graph& graph, const std::vector<Tensor>& inputs) {
    Inferred result;
    result.values = startValues(graph, inputs);
    // What follows from constants may be some times what the file holds, not without end.
    int64_t budget = int64_t{1} << 26;
    for (const Value& value : graph.values)
        budget += value.constant.known() ? 4 * value.constant.size() : 0;
    for (const Node& node : graph.nodes) {
        std::string problem;
        for (int in : node.inputs) {
            const auto found = in == kAbsent ? result.problems.end() : result.problems.find(in);
            if (found != result.problems.end() && node.op != "Select") problem = found->second;
        }
        std::vector<Tensor> outputs(node.outputs.size());
        try {
            if (problem.empty()) outputs = evaluateNode(graph, node, inputsOf(node, result.values));
        } catch (const Refusal& refusal) {
            problem = refusal.what();
        }
        for (size_t k = 0; k < node.outputs.size(); ++k) {
            const int out = node.outputs[k];
            if (out == kAbsent) continue;
            result.values[out] = outputs[k];
            if (outputs[k].known()) budget -= outputs[k].size();
            if (budget < 0) {
                throw Refusal(graph.describe(node) +
                              ": the constants of the graph take more memory than any model needs");
            }
            if (outputs[k].type() == Type::None)
                result.problems[out] = problem.empty() ? "it has no value" : problem;
        }
    }
    return result;
}

}  // namespace mpm::models

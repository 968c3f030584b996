#include "models/onnx/eval/shapes.hpp"

namespace mpm::models {

List<Tensor> inputsFor(const Graph& graph, const Shape& image) {
    List<Tensor> inputs{Tensor(Type::Float, image)};
    for (size_t k = 1; k < graph.inputs.size(); ++k) {
        Shape shape = graph.inputs[k].dims;
        if (!shape.empty() && !image.empty()) shape[0] = image[0];
        inputs.emplace_back(graph.inputs[k].type, shape);
    }
    return inputs;
}

std::string problemOf(const Graph& graph, const Inferred& inferred) {
    for (const Port& port : graph.outputs) {
        const auto problem = inferred.problems.find(port.value);
        if (problem != inferred.problems.end()) return problem->second;
    }
    return {};
}

Shape Binding::inputAt(int batch) const {
    Shape shape = inputs[0].shape();
    shape[0] = batch;
    return shape;
}

Shapes inferShapes(const Graph& graph, const Binding& binding) {
    Shapes shapes;
    shapes.dynamic = binding.dynamicBatch;
    shapes.at = infer(graph, binding.inputs);
    if (shapes.dynamic) shapes.other = infer(graph, binding.otherInputs);
    for (const Port& port : graph.outputs) {
        for (const Inferred* inferred : {&shapes.at, shapes.dynamic ? &shapes.other : &shapes.at}) {
            const auto problem = inferred->problems.find(port.value);
            if (problem != inferred->problems.end()) throw Refusal(problem->second);
        }
    }
    return shapes;
}

void declarePorts(Graph& graph, const Shapes& shapes, const Binding& binding) {
    for (size_t k = 0; k < graph.inputs.size(); ++k) {
        Port& port = graph.inputs[k];
        port.dims = binding.inputs[k].shape();
        if (binding.dynamicBatch) port.dims[0] = -1;
        port.hasShape = true;
    }
    for (Port& port : graph.outputs) {
        const Tensor& value = shapes.at.values[port.value];
        port.type = value.type();
        port.dims = value.shape();
        port.hasShape = true;
        port.dimNames.assign(port.dims.size(), "");
        for (size_t k = 0; k < port.dims.size(); ++k) {
            if (!shapes.isBatch(port.value, k)) continue;
            port.dims[k] = -1;
            port.dimNames[k] = graph.inputs[0].dimNames.empty() ? "batch" : graph.inputs[0].dimNames[0];
        }
    }
}

}  // namespace mpm::models

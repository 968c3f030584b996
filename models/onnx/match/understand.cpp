#include "models/onnx/match/state.hpp"

#include "models/onnx/decoder/axes.hpp"
#include "models/onnx/match/match.hpp"
#include "models/onnx/passes/passes.hpp"

namespace mpm::models {
namespace {

List<ResizedTable> resizedTables(const Graph& graph, const Inferred& inferred) {
    List<ResizedTable> tables;
    for (const Node& node : graph.nodes) {
        const bool resizes = node.is("Resize") || node.is("Upsample");
        if (!resizes || !inferred.values[node.outputs[0]].known()) continue;
        ResizedTable table{node, {}, inferred.values[node.outputs[0]], graph.opset};
        for (int in : node.inputs)
            table.inputs.push_back(in == kAbsent ? Tensor() : inferred.values[in]);
        tables.push_back(table);
    }
    return tables;
}

bool findBlocks(State& state, bool chains) {
    state.match = findEncoders(state.graph, state.shapes.at, chains);
    return state.match.backbone() != nullptr;
}

void matchExport(State& state, bool chains) {
    state.tables = resizedTables(state.graph, state.shapes.at);
    fold(state.graph, state.shapes.at, state.shapes.dynamic ? &state.shapes.other : nullptr);
    if (turnMeans(state.graph)) state.shapes = inferShapes(state.graph, state.binding);
    normalise(state.graph, state.shapes.at);
    state.shapes = inferShapes(state.graph, state.binding);
    if (fuseDeformables(state.graph, state.shapes.at) > 0)
        state.shapes = inferShapes(state.graph, state.binding);
    if (fuseMaskedSoftmaxes(state.graph, state.shapes.at) > 0)
        state.shapes = inferShapes(state.graph, state.binding);
    if (findBlocks(state, chains)) return;
    const std::string reason = state.match.reason();
    if (!regroupSums(state.graph, state.shapes.at)) throw Refusal(reason);
    state.shapes = inferShapes(state.graph, state.binding);
    if (!findBlocks(state, chains)) throw Refusal(state.match.reason());
}

}  // namespace

State understand(Graph graph, const Binding& binding, bool chains) {
    State state{std::move(graph), binding, {}, {}, {}};
    state.shapes = inferShapes(state.graph, binding);
    if (isFused(state.graph)) {
        state.match = encodersOf(state.graph, state.shapes.at);
        if (!state.match.backbone())
            throw Refusal("the model has no encoder that merges: convert the original export instead");
        return state;
    }
    if (isLayers(state.graph)) {
        dropMerges(state.graph, state.shapes.at);
        state.shapes = inferShapes(state.graph, binding);
    }
    matchExport(state, chains);
    return state;
}

}  // namespace mpm::models

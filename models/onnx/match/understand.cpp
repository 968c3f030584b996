#include "models/onnx/match/understand.hpp"

#include "models/onnx/decoder/deformable.hpp"
#include "models/onnx/decoder/masked_softmax.hpp"
#include "models/onnx/match/normalise.hpp"
#include "models/onnx/match/own_graph.hpp"

namespace mpm::models {
namespace {

void matchExport(State& state, bool chains) {
    fold(state.graph, state.shapes.at, state.shapes.dynamic ? &state.shapes.other : nullptr);
    normalise(state.graph, state.shapes.at);
    state.shapes = inferShapes(state.graph, state.binding);
    if (fuseDeformables(state.graph, state.shapes.at) > 0)
        state.shapes = inferShapes(state.graph, state.binding);
    if (fuseMaskedSoftmaxes(state.graph, state.shapes.at) > 0)
        state.shapes = inferShapes(state.graph, state.binding);
    state.match = findEncoders(state.graph, state.shapes.at, chains);
    if (!state.match.backbone()) throw Refusal(state.match.reason());
}

}  // namespace

State understand(Graph graph, const Binding& binding, bool chains) {
    State state{std::move(graph), binding, {}, {}};
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

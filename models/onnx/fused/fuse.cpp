#include "models/onnx/fused/fuse.hpp"

#include "models/onnx/fused/insert.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

void fuse(State& state, const Merging& merging) {
    insertEncoders(state, merging);
    insertEmbeddings(state);
}

void finishFused(State& state) {
    constexpr int kOpset = 13;  // OpenCV 4.6 and later can read this opset
    fusePatchProjections(state);
    declarePorts(state.graph, state.shapes, state.binding);
    pickRows(state);
    joinActivations(state.graph, state.shapes);
    lower(state);
    joinLayers(state.graph);
    joinConvolutions(state.graph);
    enlargeLater(state.graph, state.shapes);
    state.graph.opset = kOpset;
}

void updateFused(State& state, const Merging& merging) {
    setMerging(state.graph, merging);
    fusePatchProjections(state);
    declarePorts(state.graph, state.shapes, state.binding);
}

}  // namespace mpm::models

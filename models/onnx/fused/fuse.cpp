#include "models/onnx/fused/fuse.hpp"

#include "models/onnx/fused/insert.hpp"
#include "models/onnx/fused/join.hpp"
#include "models/onnx/fused/lower.hpp"
#include "models/onnx/match/own_graph.hpp"

namespace mpm::models {

void fuse(State& state, const List<int>& schedule) {
    insertEncoders(state, schedule);
    insertEmbeddings(state);
}

void finishFused(State& state) {
    constexpr int kOpset = 13;  // every OpenCV from 4.6 on reads it
    fusePatchProjections(state);
    declarePorts(state.graph, state.shapes, state.binding);
    joinActivations(state.graph, state.shapes);
    lower(state);
    joinLayers(state.graph);
    joinConvolutions(state.graph);
    state.graph.opset = kOpset;
}

void updateFused(State& state, const List<int>& schedule) {
    setSchedule(state.graph, schedule);
    fusePatchProjections(state);
    declarePorts(state.graph, state.shapes, state.binding);
}

}  // namespace mpm::models

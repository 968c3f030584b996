#include "models/onnx/layers/layers.hpp"

namespace mpm::models {

void writeLayers(State& state, const List<int>& schedule) {
    writeBlocks(state, schedule);
    declarePorts(state.graph, state.shapes, state.binding);
    standardise(state);
}

}  // namespace mpm::models

// The writer of the form `layers`: blocks of standard operators for any number of tokens, and merges between
// blocks.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Changes the graph to the form `layers`, for batch 1. Throws Refusal if the form cannot express the model.
void writeLayers(State& state, const List<int>& schedule);

/// Rewrites nodes that must be written differently in opset 18.
void standardise(State& state);

}  // namespace mpm::models

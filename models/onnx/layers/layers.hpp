// The layers form: blocks of standard operators over any number of tokens, with merges between them.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Writes the layers form, for batch 1. Throws Refusal if the form cannot express the model.
void writeLayers(State& state, const List<int>& schedule);

/// Writes the rest of the graph in standard operators of opset 18.
void standardise(State& state);

}  // namespace mpm::models

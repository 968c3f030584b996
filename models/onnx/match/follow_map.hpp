// Decoders that can compute merged tokens.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Every decoder whose tokens follow row by row from those of the backbone gets its map. A note names each
/// decoder that cannot.
void mergeDecoders(State& state, std::vector<std::string>& notes);

/// Whether a decoder has it.
bool followsMap(const State& state);

/// In a graph of the fused form: gives the decoders chosen by mergeDecoders() the map.
void connectMaps(State& state);

}  // namespace mpm::models

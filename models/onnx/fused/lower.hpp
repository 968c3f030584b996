// The rest of the graph in operators that OpenCV has from 4.6 on, or in those of domain mpm.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Throws Refusal that names the node if an operator has no equivalent.
void lower(State& state);

}  // namespace mpm::models

// A matched model in words and numbers.
#pragma once

#include "models/onnx/conversion.hpp"
#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Of a state that is not lowered. Reads method and schedule from `conversion` and fills in the rest.
void summarise(const State& state, Conversion& conversion);

}  // namespace mpm::models

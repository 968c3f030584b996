// From a graph as it was read to the encoders in it.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Folds constants, normalises and matches an export; reads the encoders of a converted model back. The
/// result has a backbone. With `chains`, the backbone of an export may have several segments. Throws Refusal
/// with the reason if there is none.
State understand(Graph graph, const Binding& binding, bool chains = true);

}  // namespace mpm::models

// The rest of the graph in operators that OpenCV has from 4.6 on, or ours.
#pragma once

#include "models/onnx/eval/shapes.hpp"

namespace mpm::models {

/// Throws Refusal naming the node where an operator has no equivalent.
void lower(Graph& graph, const Shapes& shapes);

}  // namespace mpm::models

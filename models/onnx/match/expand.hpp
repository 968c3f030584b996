// Operators that hold several steps, spelled out so that matching sees the steps.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Attention (opset 23) and Einsum of two operands become products, softmax and moves. What cannot be spelled
/// out stays.
void expandComposites(Graph& graph, const Inferred& inferred);

}  // namespace mpm::models

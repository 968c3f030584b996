// Expands operators that consist of several steps, so that matching finds the steps.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Attention (opset 23) and Einsum of two operands become products, softmax and moves. Others stay
/// as they are.
void expandComposites(Graph& graph, const Inferred& inferred);

}  // namespace mpm::models

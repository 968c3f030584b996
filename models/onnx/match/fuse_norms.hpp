// Norms that an export has written step by step become one node.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

void fuseNorms(Graph& graph, const Inferred& inferred);

}  // namespace mpm::models

#pragma once

#include "models/onnx/eval/shapes.hpp"

namespace mpm::models {

/// The first output becomes class ids instead of scores: a resize at the end also computes the argmax.
void outputLabels(Graph& graph);

}  // namespace mpm::models

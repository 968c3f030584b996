#pragma once

#include "models/onnx/eval/shapes.hpp"

namespace mpm::models {

/// Class ids instead of the scores of the first output: a resize at the end takes the argmax on its way.
void outputLabels(Graph& graph);

}  // namespace mpm::models

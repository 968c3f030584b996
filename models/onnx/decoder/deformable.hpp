// Deformable attention as PyTorch exports it: a GridSample for each level, whose samples are joined, weighted
// and added, or mmdeploy's operator.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Replaces each by an MpmDeformable. Returns the number; other spellings stay.
int fuseDeformables(Graph& graph, const Inferred& inferred);

}  // namespace mpm::models

// Operators into which ONNX Runtime fuses standard ones when it optimises a model.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Expands BiasGelu, Gelu, FastGelu, QuickGelu, SkipLayerNormalization and
/// SkipSimplifiedLayerNormalization of domain com.microsoft; FusedMatMul moves to domain `mpm.internal`, as
/// it can only be expanded when shapes are known. Other operators of the domain stay and fail when they are
/// evaluated. The graph is sorted.
void expandOptimised(Graph& graph);

}  // namespace mpm::models

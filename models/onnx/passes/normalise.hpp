// One form for each construct: norms, linear layers and attention, which exporters write in a dozen ways,
// become one form each, so that matching does not depend on the exporter.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// After folding: removes nodes without effect, fuses decomposed LayerNorms into LayerNormalization and
/// products with constant weights into `Linear` (x, weight [K, N], bias [N] or absent) of domain
/// `mpm.internal`, and expands Attention.
void normalise(Graph& graph, const Inferred& inferred);

/// Turns every value known from shapes and constants into a constant; with a second batch size, only if both
/// agree.
void fold(Graph& graph, const Inferred& inferred, const Inferred* otherBatch = nullptr);

}  // namespace mpm::models

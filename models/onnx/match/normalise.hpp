// One way of saying each thing: what exporters write in a dozen ways (norms, linear layers, attention as one
// operator) becomes one node each, so that matching reads meaning and not habits.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// After folding: drops what does nothing, fuses decomposed LayerNorms into LayerNormalization, products with
/// constant weights into `Linear` (x, weight [K, N], bias [N] or absent) of domain `mpm.internal`, and spells
/// out Attention.
void normalise(Graph& graph, const Inferred& inferred);

/// Turns every value known from shapes and constants into a constant; with a second batch size, only where
/// both agree.
void fold(Graph& graph, const Inferred& inferred, const Inferred* otherBatch = nullptr);

}  // namespace mpm::models

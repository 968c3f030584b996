// Attention that is masked by logits, as Mask2Former exports it: keys whose sigmoid is below 1/2 are left
// out, and a query that would have no key keeps all.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Replaces each such softmax by an MpmMaskedSoftmax. Returns the number; other spellings stay.
int fuseMaskedSoftmaxes(Graph& graph, const Inferred& inferred);

}  // namespace mpm::models

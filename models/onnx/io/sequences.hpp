// Lists of tensors, which exporters write for chunk and unbind: taken apart while reading, so that no later
// step sees one.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// SequenceAt of a SplitToSequence or a SequenceConstruct becomes a slice, a gather or the tensor itself;
/// what is left of sequences fails where it is evaluated. The graph is sorted.
void resolveSequences(Graph& graph);

}  // namespace mpm::models

// Lists of tensors, which exporters write for chunk, unbind and stack. They are resolved while reading, so
// that no later pass sees a list.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// SequenceAt of a SplitToSequence or a SequenceConstruct becomes a slice, a gather or the tensor itself;
/// ConcatFromSequence of a SequenceConstruct becomes a concatenation.
/// Other sequences fail when they are evaluated. The graph is sorted.
void resolveSequences(Graph& graph);

}  // namespace mpm::models

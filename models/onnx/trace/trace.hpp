// Traces the elements of a tensor back to their origin. Between two products of a transformer, exports only
// move, scale and rotate elements, in endless variations. Tracing single elements through these nodes shows
// which column of which weight feeds component j of head h of token t, for any sequence of nodes.
#pragma once

#include <optional>

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/trace/terms.hpp"

namespace mpm::models {

struct Trace {
    Shape shape;
    List<int> sources;      ///< values at which the trace ends
    List<int64_t> offsets;  ///< the first `at` of each source
    Terms terms;
};

enum class Follow {
    Affine,     ///< moves, scaling, adding: factors and constants are exact
    Dependence  ///< any element-wise operator as well: only `at` is meaningful
};

/// The value as a function of its sources; none if an element depends on more than two others or a node in
/// between cannot be followed. `stop` values are sources even if they could be followed.
std::optional<Trace> trace(const Graph& graph, const Inferred& inferred, int value,
                           Follow follow = Follow::Affine, const List<int>& stop = {});

/// The nodes a trace of this kind can pass.
bool canFollow(const Graph& graph, const Inferred& inferred, const Node& node, Follow follow);

}  // namespace mpm::models

// What a tensor's elements are made of. Between two products of a transformer an export does little more than
// move numbers about, scale them and rotate them, in endless variations. Following single elements through
// all of that answers what the node sequence cannot: which column of which weight feeds head h, component j
// of token t.
#pragma once

#include <optional>

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/match/terms.hpp"

namespace mpm::models {

struct Trace {
    Shape shape;
    List<int> sources;      ///< values: results of nodes the trace does not look into
    List<int64_t> offsets;  ///< where each source starts in the count of `at`
    Terms terms;
};

enum class Follow {
    Affine,     ///< moves, scaling, adding: factors and constants are exact
    Dependence  ///< any element-wise operator as well: only `at` means anything
};

/// The value as a function of what it comes from; nothing where an element depends on more than two others or
/// a node in between cannot be followed. `stop` values are sources though they could be followed.
std::optional<Trace> trace(const Graph& graph, const Inferred& inferred, int value,
                           Follow follow = Follow::Affine, const List<int>& stop = {});

/// The nodes a trace of this kind can pass.
bool canFollow(const Graph& graph, const Inferred& inferred, const Node& node, Follow follow);

}  // namespace mpm::models

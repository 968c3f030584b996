#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// If the first output has scores that a graph in its final form computes from masks and classes of queries,
/// it becomes class ids by MpmMaskLabels, and the scores are never computed. The pattern only proposes: the
/// proof compares the labels.
bool labelQueryScores(Graph& graph);

}  // namespace mpm::models

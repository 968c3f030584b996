// The layers form: blocks of standard operators over however many tokens there are, with merges between them.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// Batch 1. Every encoder's blocks are written anew without a baked-in token count; MpmMerge stands before
/// the blocks of the schedule, MpmRestore where tokens leave the backbone.
void insertLayers(Graph& graph, const Matched& matched, const Shapes& shapes, const List<int>& schedule);

/// The rest of the graph in standard operators of opset 18.
void standardise(Graph& graph, const Shapes& shapes);

}  // namespace mpm::models

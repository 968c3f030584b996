// Token sharing in an exported model.
#pragma once

#include "models/onnx/ir/graph.hpp"
#include "models/torch/model/sharing.hpp"

namespace mpm::models {

/// Adds policy and sharing to a Segmenter of the fused form: `MpmShare` chooses between the tokens of patches
/// and those of the half-size image, and encoder and decoder follow the map of `MpmShare`. `rows`, `columns`:
/// of patches.
void addSharing(Graph& graph, const Sharing& sharing, int64_t rows, int64_t columns);

}  // namespace mpm::models

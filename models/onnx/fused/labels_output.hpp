#pragma once

#include <optional>

#include "models/onnx/eval/shapes.hpp"

namespace mpm::models {

/// Outputs of a model that gives masks and classes of queries, as MaskFormer and EoMT do.
struct QueryOutputs {
    size_t masks = 0;    ///< [B, Q, rows, columns]
    size_t classes = 0;  ///< [B, Q, C + 1]
};
std::optional<QueryOutputs> queryOutputs(const Graph& graph);

/// The first output becomes class ids instead of scores: a resize at the end also computes the argmax. With
/// queries, the masks become class ids at the size of the image.
void outputLabels(Graph& graph);

}  // namespace mpm::models

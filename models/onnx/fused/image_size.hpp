// A converted graph for another picture size or batch than its export was made for.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// The graph holds our operators already and is not lowered yet; `shapes` are those at the export's size.
/// Position embeddings are resized (bicubic with antialiasing as timm does, bilinear where a segmentation
/// head follows, as Segmenter does), baked-in sizes follow. Returns the shapes at the new size; throws
/// Refusal where something cannot.
Shapes changePictureSize(Graph& graph, const Shapes& shapes, const Matched& matched, const Binding& from,
                         const Binding& to);

}  // namespace mpm::models

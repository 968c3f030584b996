// Positions at another size, by the resize that the export itself has.
#pragma once

#include <optional>

#include "models/onnx/fused/rotary_size.hpp"
#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// `rows` [patches, width] are position embeddings of the grid `from`. If they are the result of one of the
/// tables, perhaps with a number added to each column: that table resized to the grid `to`.
std::optional<Tensor> ownPositions(const List<ResizedTable>& tables, const Tensor& rows,
                                   const PatchGrid& from, const PatchGrid& to);

}  // namespace mpm::models

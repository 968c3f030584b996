#pragma once

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// The attention half of a block, found from its softmax. Throws Mismatch with the reason if it is none.
/// Fills attention, input, middle, layout, tokens and batch of the block.
Block matchAttention(const RowMatcher& rows, const Node& softmax);

}  // namespace mpm::models

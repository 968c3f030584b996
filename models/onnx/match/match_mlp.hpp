#pragma once

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// The MLP half of a block whose attention is known: fills mlp and output. Throws Mismatch with the reason if
/// it is none.
void matchMlp(const RowMatcher& rows, Block& block);

}  // namespace mpm::models

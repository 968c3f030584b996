// The scores of attention before its softmax.
#pragma once

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// q k^T, scaled, with or without a bias per key.
struct Scores {
    int product = kAbsent;  ///< the MatMul, a node
    float scale = 1;
    Tensor keyBias;
};

/// Throws Mismatch.
Scores scoresOf(const RowMatcher& rows, const Node& softmax);

/// Whether a node keeps the last two axes.
bool keepsMatrix(const RowMatcher& rows, const Node& node);

}  // namespace mpm::models

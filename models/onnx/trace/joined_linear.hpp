// Linear layers, and several that together form a linear layer.
#pragma once

#include <optional>

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/ir/encoder.hpp"

namespace mpm::models {

bool isLinear(const Node* node);  ///< as normalise() writes them; false for nullptr
Dense denseOf(const Graph& graph, const Node& linear);

/// A scale and a shift of each column taken into the weights: y = (x W + b) * factor + constant.
Dense withBranch(Dense dense, const List<float>& factor, const List<float>& constant);

struct JoinedLinear {
    int value = kAbsent;  ///< the result: row r of it follows from row r of the input
    int input = kAbsent;  ///< value
    Dense dense;
};

/// Layers of the same input whose results are joined by columns, added, or scaled and shifted by constants,
/// as experts that constants switch. The result is `value`, or a value before it that leads to it.
std::optional<JoinedLinear> joinedLinear(const Graph& graph, const Inferred& inferred, int value);

}  // namespace mpm::models

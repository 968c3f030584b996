// Masked attention guards rows in which every key is hidden: they attend to all keys instead.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

constexpr int kMostSteps = 64;  ///< of nodes that are followed in a row

/// Whether all elements are the same number.
bool isUniform(const Tensor& t, double& number);
/// Whether the node moves or repeats elements, or changes their type only.
bool isMove(const Node& node);

/// The mask without the guard, if the node is a guard; else kAbsent. True elements of the mask are hidden, or
/// the others. Guards compare a sum over the keys with a number, or ask whether all (any) keys are hidden.
int guardedBy(const Graph& graph, const Inferred& inferred, const Node& node, bool hides);

}  // namespace mpm::models

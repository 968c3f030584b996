// Runs a graph node by node: to verify a converted model, and for the shapes and constants that follow from
// an input size.
#pragma once

#include <map>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// The outputs of the graph for these inputs, which are in the order of graph.inputs. Throws Refusal that
/// names the failing node.
List<Tensor> evaluate(const Graph& graph, const List<Tensor>& inputs);

/// Every value for inputs of these shapes: its shape, and its data if that follows from shapes and constants
/// alone. A value that cannot be inferred is of Type::None and has a reason in `problems`.
struct Inferred {
    List<Tensor> values;
    std::map<int, std::string> problems;  ///< by value
};
Inferred infer(const Graph& graph, const List<Tensor>& inputs);

/// A list of integers that is an input of a node, or an attribute in older opsets.
List<int64_t> listOf(const Inferred& inferred, const Node& node, size_t input, const char* attribute);

/// Whether a reduction runs over the last axis alone.
bool reducesLastAxis(const Inferred& inferred, const Node& node);

/// The largest memory that the values of the graph need at a time when it runs from front to back, without
/// constants.
int64_t peakBytes(const Graph& graph, const Inferred& inferred);

/// What to do about an operator that is not supported, as ": convert the original export"; may be empty.
std::string adviceFor(const Node& node);

/// One node on these inputs.
List<Tensor> evaluateNode(const Graph& graph, const Node& node, const List<Tensor>& inputs);

}  // namespace mpm::models

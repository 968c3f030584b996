// Runs a graph node by node: to verify a converted model, and to find the shapes and constants that follow
// from an input size.
#pragma once

#include <map>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Returns the outputs of the graph for these inputs, which are in the order of graph.inputs. Throws Refusal,
/// which names the failing node.
List<Tensor> evaluate(const Graph& graph, const List<Tensor>& inputs);

/// All values for inputs of given shapes: shape, and data if it follows from shapes and constants alone. A
/// value that cannot be inferred is of Type::None and has a reason in `problems`.
struct Inferred {
    List<Tensor> values;
    std::map<int, std::string> problems;  ///< by value
};
Inferred infer(const Graph& graph, const List<Tensor>& inputs);

/// Returns a list of integers that is an input of a node, or an attribute in older opsets.
List<int64_t> listOf(const Inferred& inferred, const Node& node, size_t input, const char* attribute);

/// Whether a reduction runs over only the last axis.
bool reducesLastAxis(const Inferred& inferred, const Node& node);

/// Returns the peak memory of the graph's values, without constants, if the nodes run from front to back.
int64_t peakBytes(const Graph& graph, const Inferred& inferred);

/// Returns advice about an unsupported operator, such as ": convert the original export"; may be empty.
std::string adviceFor(const Node& node);

/// Runs a node on these inputs.
List<Tensor> evaluateNode(const Graph& graph, const Node& node, const List<Tensor>& inputs);

}  // namespace mpm::models

// Runs a graph node by node: the plain means by which a converted model is proved, and the shapes and
// constants that follow from an input size.
#pragma once

#include <map>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Outputs of the graph for these inputs, in the order of graph.inputs. Throws Refusal naming the node that
/// fails.
List<Tensor> evaluate(const Graph& graph, const List<Tensor>& inputs);

/// What every value is for inputs of these shapes: its shape, and its data where that follows from shapes and
/// constants alone. A value that cannot be had is of Type::None and has a reason in `problems`.
struct Inferred {
    List<Tensor> values;
    std::map<int, std::string> problems;  ///< by value
};
Inferred infer(const Graph& graph, const List<Tensor>& inputs);

/// The most that the values of the graph take at a time, constants aside, when it runs from front to back.
int64_t peakBytes(const Graph& graph, const Inferred& inferred);

/// One node on these inputs.
List<Tensor> evaluateNode(const Graph& graph, const Node& node, const List<Tensor>& inputs);

}  // namespace mpm::models

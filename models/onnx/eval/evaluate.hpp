// Functions that evaluate a graph node by node, to verify converted models, and to find the shapes and
// constants that follow from an input size.
#pragma once

#include <map>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Returns the outputs of the graph for `inputs`, which must be in the order of graph.inputs. Throws a
/// Refusal that names the node that fails.
List<Tensor> evaluate(const Graph& graph, const List<Tensor>& inputs);

/// The values of a graph for inputs of given shapes. Each value has a shape, and has data if shapes and
/// constants determine the data. A value that cannot be inferred has Type::None and a reason in `problems`.
struct Inferred {
    List<Tensor> values;
    std::map<int, std::string> problems;  ///< reasons; the key is the value
};
Inferred infer(const Graph& graph, const List<Tensor>& inputs);

/// Returns a list of integers that is an input of a node, or an attribute in older opsets.
List<int64_t> listOf(const Inferred& inferred, const Node& node, size_t input, const char* attribute);

bool reducesLastAxis(const Inferred& inferred, const Node& node);

/// Returns the peak memory in bytes of the graph's values, without constants, if the nodes run in order.
int64_t peakBytes(const Graph& graph, const Inferred& inferred);

/// Returns advice about an unsupported operator, such as ": convert the original export"; may be empty.
std::string adviceFor(const Node& node);

List<Tensor> evaluateNode(const Graph& graph, const Node& node, const List<Tensor>& inputs);

}  // namespace mpm::models

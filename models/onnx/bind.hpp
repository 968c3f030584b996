// Chooses the input sizes that the export leaves open or the options set.
#pragma once

#include <optional>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Replaces scalar inputs of type bool, which exporters make from default arguments, by the constant false.
void fixScalarInputs(Graph& graph, std::vector<std::string>& notes);

/// Fixes the scalar inputs in `values` to these numbers or truth values. Throws cv::Exception (StsOutOfRange)
/// if an input does not exist or cannot have its value.
void setInputs(Graph& graph, const std::map<std::string, std::string>& values);

/// Keeps only the outputs with these names (all if `names` is empty) and the inputs that they need. Throws
/// cv::Exception (StsOutOfRange) if a name does not exist. Without names, a note lists the dropped inputs.
void keepOutputs(Graph& graph, const std::vector<std::string>& names, std::vector<std::string>& notes);

Binding bindInputs(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes);
/// Whether the graph works with these inputs unchanged.
bool accepts(const Graph& graph, const Binding& binding);
/// Whether a graph of a declared size takes all sizes from the image, and so works with these inputs, too.
bool followsSize(const Graph& graph, const Binding& binding);

/// Changes an export of one image to the batch of `wanted`, including constants that hold the batch. Empty if
/// the batch cannot be followed to every output.
std::optional<Graph> withBatch(Graph graph, const Binding& own, const Binding& wanted);

/// Calls understand(). The Refusal gives the reason if the batch is dynamic in name only: constants of the
/// graph hold the batch of the example.
State understandOrExplain(const Graph& graph, const ConvertOptions& options, const Binding& binding,
                          bool chains);

}  // namespace mpm::models

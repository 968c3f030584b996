// Chooses the sizes of the inputs: those that the options give, and those that the export leaves open.
#pragma once

#include <optional>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Replaces scalar inputs of type bool, which exporters make from default arguments, by the constant false.
void fixScalarInputs(Graph& graph, std::vector<std::string>& notes);

/// Replaces the scalar inputs that `values` names by constants: numbers, "true" or "false". Throws
/// cv::Exception (StsOutOfRange) if an input does not exist or cannot have its value.
void setInputs(Graph& graph, const std::map<std::string, std::string>& values);

/// Keeps only the outputs with these names (all if `names` is empty) and the inputs that they need. Throws
/// cv::Exception (StsOutOfRange) if a name does not exist. Without names, a note lists the dropped inputs.
void keepOutputs(Graph& graph, const std::vector<std::string>& names, std::vector<std::string>& notes);

Binding bindInputs(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes);
/// Whether the graph works with these inputs without a change.
bool accepts(const Graph& graph, const Binding& binding);
/// Whether a graph for another image size computes all sizes from the image, so that it works with these
/// inputs.
bool followsSize(const Graph& graph, const Binding& binding);

/// Changes an export of a single image to the batch of `wanted`, also in constants. Returns nothing if the
/// batch cannot be followed from the image to every output.
std::optional<Graph> withBatch(Graph graph, const Binding& own, const Binding& wanted);

/// Calls understand(). If that fails only because constants of the graph contain the batch of the exporter's
/// example, the Refusal reports this.
State understandOrExplain(const Graph& graph, const ConvertOptions& options, const Binding& binding,
                          bool chains);

}  // namespace mpm::models

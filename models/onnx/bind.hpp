// Chooses the input sizes: those that the export leaves open, and those that the options name.
#pragma once

#include <optional>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Scalar inputs of type bool, which exporters make of default arguments, become the constant false.
void fixScalarInputs(Graph& graph, std::vector<std::string>& notes);

/// Fixes the inputs in `values`, scalars, to these numbers or truth values. Throws cv::Exception
/// (StsOutOfRange) if there is no such input or it cannot have that value.
void setInputs(Graph& graph, const std::map<std::string, std::string>& values);

/// Keeps the outputs of these names only, all if there are none, and the inputs that they need. Throws
/// cv::Exception (StsOutOfRange) if a name does not exist. Without names, a note lists the inputs that go.
void keepOutputs(Graph& graph, const std::vector<std::string>& names, std::vector<std::string>& notes);

Binding bindInputs(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes);
/// Whether the graph works at these inputs without changes.
bool accepts(const Graph& graph, const Binding& binding);
/// Whether a graph of a declared size takes all sizes from the image, so that it works at these inputs, too.
bool followsSize(const Graph& graph, const Binding& binding);

/// An export of one image for `wanted` images; its constants that hold the batch are changed. None if the
/// batch cannot be followed to every output.
std::optional<Graph> withBatch(Graph graph, const Binding& own, const Binding& wanted);

/// understand(); the Refusal names the reason if the batch is dynamic by name only (constants of the graph
/// hold that of the example).
State understandOrExplain(const Graph& graph, const ConvertOptions& options, const Binding& binding,
                          bool chains);

}  // namespace mpm::models

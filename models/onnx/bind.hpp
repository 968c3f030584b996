// Functions that choose the inputs, image size, batch and outputs of an export.
#pragma once

#include <optional>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Replaces each scalar bool input with the constant false. Exporters make such inputs from default
/// arguments.
void fixScalarInputs(Graph& graph, std::vector<std::string>& notes);

/// Replaces the scalar inputs named in `values` with constants: numbers, "true" or "false". Throws
/// cv::Exception (StsOutOfRange) if an input does not exist or does not accept the value.
void setInputs(Graph& graph, const std::map<std::string, std::string>& values);

/// Keeps only the outputs with these names (all if `names` is empty) and the inputs that the kept outputs
/// need. Throws cv::Exception (StsOutOfRange) if a name does not exist. If `names` is empty, a note lists
/// the dropped inputs.
void keepOutputs(Graph& graph, const std::vector<std::string>& names, std::vector<std::string>& notes);

Binding bindInputs(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes);
/// Returns whether the unchanged graph works with these inputs.
bool accepts(const Graph& graph, const Binding& binding);
/// Returns whether the graph works with these inputs although it declares another image size. Such a graph
/// computes all sizes from the image.
bool followsSize(const Graph& graph, const Binding& binding);

/// Changes an export for a single image, including its constants, to the batch size of `wanted`. Returns
/// nothing if the batch axis cannot be followed from the image to every output.
std::optional<Graph> withBatch(Graph graph, const Binding& own, const Binding& wanted);

/// Calls understand(). If this call fails for a dynamic batch, but succeeds for batch 1, the Refusal's
/// message asks for `--batch 1`.
State understandOrExplain(const Graph& graph, const ConvertOptions& options, const Binding& binding,
                          bool chains);

}  // namespace mpm::models

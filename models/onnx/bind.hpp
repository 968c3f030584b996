// Chooses the input sizes: those that the export leaves open, and those that the options name.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Scalar inputs of type bool, which exporters make of default arguments, become the constant false.
void fixScalarInputs(Graph& graph, std::vector<std::string>& notes);

Binding bindInputs(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes);
/// Whether the graph works at these inputs without changes.
bool accepts(const Graph& graph, const Binding& binding);

}  // namespace mpm::models

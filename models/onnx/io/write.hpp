// Graphs to ONNX files.
#pragma once

#include <string>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Opset graph.opset and version 1 of domain mpm. Throws cv::Exception that speaks of `name` (default: the
/// path) where the file cannot be written.
void writeModel(const Graph& graph, const std::string& path, const std::string& name = {});

}  // namespace mpm::models

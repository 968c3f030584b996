// Graphs to ONNX files.
#pragma once

#include <string>

#include "models/onnx/graph.hpp"

namespace mpm::models {

/// Opset graph.opset and version 1 of domain mpm. Throws cv::Exception where the file cannot be written.
void writeModel(const Graph& graph, const std::string& path);

}  // namespace mpm::models

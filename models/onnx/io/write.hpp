// Writes ONNX files.
#pragma once

#include <string>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Opset graph.opset and version 1 of domain mpm. Throws cv::Exception that names `name` (default: the path)
/// if the file cannot be written.
void writeModel(const Graph& graph, const std::string& path, const std::string& name = {});

}  // namespace mpm::models

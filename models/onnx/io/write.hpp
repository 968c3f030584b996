// Writes ONNX files.
#pragma once

#include <string>

#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Writes opset graph.opset and the version of domain mpm that the graph needs. Throws cv::Exception that
/// names `name` (default: the path) if the file cannot be written.
void writeModel(const Graph& graph, const std::string& path, const std::string& name = {});

/// Changes attributes `method` and `schedule` of the backbone, the metadata `mpm.schedule` and the version of
/// the domain mpm, and nothing else. Atomic. Throws cv::Exception if the file cannot be read or written.
void replaceMerging(const std::string& path, const Merging& merging, int version);

}  // namespace mpm::models

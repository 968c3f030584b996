// The writer of ONNX files.
#pragma once

#include <string>

#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Writes a graph with opset graph.opset and the lowest version of the domain mpm that the graph needs. If
/// the file cannot be written, throws a cv::Exception whose message contains `name` (default: the path).
void writeModel(const Graph& graph, const std::string& path, const std::string& name = {});

/// Changes a file atomically. Changes only the backbone's attributes `method` and `schedule`, the metadata
/// `mpm.schedule` and the version of the domain mpm. Throws cv::Exception if the file cannot be read or
/// written.
void replaceMerging(const std::string& path, const Merging& merging, int version);

}  // namespace mpm::models

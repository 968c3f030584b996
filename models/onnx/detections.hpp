// Which outputs of a detector are its boxes and scores.
#pragma once

#include <string>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Whether the graph picks several places by their scores, as detectors do.
bool choosesByScore(const Graph& graph);

/// The text of metadata mpm.detections as the export's declarations and its results on one random image
/// suggest it; empty if the model does not look like a detector. `results` are in the order of the outputs.
std::string guessDetections(const Graph& original, const List<Tensor>& results);

/// Rejects a text that is not an object, or names outputs that do not exist, with cv::Exception
/// (StsOutOfRange).
void checkDetections(const std::string& text, const Graph& graph);

/// One line for the report; empty if there is no metadata.
std::string describeDetections(const std::map<std::string, std::string>& metadata);

}  // namespace mpm::models

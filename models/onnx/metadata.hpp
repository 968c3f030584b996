// The metadata of a converted file: classes, pixels, size, detections.
#pragma once

#include <optional>
#include <string>

#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Throws cv::Exception (StsOutOfRange) if the options name more or fewer classes than the scores have:
/// classes would silently get a wrong name or none.
void checkClasses(const ConvertOptions& options, const Graph& graph);

/// Names unnamed classes by number: labels do not show how many there are. The options replace these names.
void nameClasses(std::int64_t count, Graph& graph);

/// Takes the class names that the exporter noted, if there is one for each class. For a detector,
/// mpm.detections names the output with the classes.
void nameClassesAsExported(Graph& graph);

/// Sets mpm.detections: from the options; else it stays; else, if `guess`, from the export's declarations and
/// its results on a random image of the size `image`. `results` are in the order of the export's outputs,
/// perhaps with more behind them. Throws cv::Exception (StsOutOfRange) if the options are not an object, name
/// outputs that do not exist, or name outputs without the shape of boxes, scores, masks or labels.
void describeBoxes(const ConvertOptions& options, bool guess, const Graph& original,
                   const List<Tensor>& results, const cv::Size& image, Graph& graph);

/// Writes the metadata. A converted model keeps labels, palette, mean and std unless the options give others.
void writeMetadata(const ConvertOptions& options, const Conversion& conversion, const std::string& digest,
                   Graph& graph);

using Metadata = std::map<std::string, std::string>;

/// Returns mean and std from the options, else the model, else the exporter's notes (`image_normalize`,
/// `norm_mean` and `norm_std`), else ImageNet's for a detector and 0.5 for others. `warnings` names the notes
/// that cannot be used; they are ignored.
Pixels pixelsFor(const ConvertOptions& options, const Metadata& metadata, bool detector,
                 std::vector<std::string>& warnings);

/// Returns the names in `classes` or `names`, by id; empty if their number is not `count`. Without `count`
/// returns all names, and an empty name for an id without a name.
std::vector<std::string> classesIn(const Metadata& metadata, std::optional<std::int64_t> count);

/// Returns `imgsz_h` and `imgsz_w`; empty if absent or not a size.
cv::Size sizeIn(const Metadata& metadata);

/// Summarises a state that is not lowered. Reads method and schedule from `conversion` and fills in the rest.
void summarise(const State& state, Conversion& conversion);

/// Returns the merging for an encoder with this number of blocks. Throws cv::Exception (StsOutOfRange) if
/// options exclude each other, or if a reducer or block does not exist.
Merging mergingFor(const ConvertOptions& options, int blocks);

/// Returns how many of `tokens` image tokens a merge usually leaves; empty if unknown.
std::optional<double> usuallyLeft(const std::string& method, double tokens);

/// Whether the graph selects several positions by score, as detectors do.
bool choosesByScore(const Graph& graph);

/// Returns a line for the report; empty if there is no metadata.
std::string describeDetections(const std::map<std::string, std::string>& metadata);

}  // namespace mpm::models

// The metadata of a converted file (classes, pixels, size, detections), and the summary of a conversion.
#pragma once

#include <optional>
#include <string>

#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Throws cv::Exception (StsOutOfRange) if the options name more or fewer classes than the scores have: some
/// classes would have a wrong name or none. Also throws if the masks belong to queries, not to classes, and
/// the options do not request labels.
void checkClasses(const ConvertOptions& options, const Graph& graph);

/// If the graph has no class names, sets "class 0", "class 1" and so on, because an output of class ids does
/// not show how many classes there are. Names in the options replace these names.
void nameClasses(std::int64_t count, Graph& graph);

/// If the graph has no class names and the exporter's metadata name each class, takes these names. If
/// mpm.detections names an output of scores and no output of labels, the number of names must fit the scores.
void nameClassesAsExported(Graph& graph);

/// Sets mpm.detections from the option `detections`. If this option is empty, keeps an existing value. If no
/// value exists and `guess` is true, guesses a value from the export's outputs and their `results` on a
/// random image of the size `image`. `results` begin with the outputs, in order; other results may follow.
/// Throws cv::Exception (StsOutOfRange) if the option is not a JSON object, or names an output that does not
/// exist or has a wrong shape.
void describeBoxes(const ConvertOptions& options, bool guess, const Graph& original,
                   const List<Tensor>& results, const cv::Size& image, Graph& graph);

/// Writes the metadata. A converted model keeps its labels, palette, mean and std, except values that the
/// options set.
void writeMetadata(const ConvertOptions& options, const Conversion& conversion, const std::string& digest,
                   Graph& graph);

using Metadata = std::map<std::string, std::string>;

/// Returns mean and std from the options, else from the model, else from the exporter's metadata
/// (`image_normalize`, `norm_mean` and `norm_std`), else ImageNet's for a detector, or 0.5 for other models.
/// Ignores values in the exporter's metadata that cannot be used, and names them in `warnings`.
Pixels pixelsFor(const ConvertOptions& options, const Metadata& metadata, bool detector,
                 std::vector<std::string>& warnings);

/// Returns the class names in the metadata `classes` or `names`, by id; empty if their number is not `count`.
/// Without `count`, an id without a name gets an empty name.
std::vector<std::string> classesIn(const Metadata& metadata, std::optional<std::int64_t> count);

/// Returns the image size in the metadata `imgsz_h` and `imgsz_w`; empty if absent or not a size.
cv::Size sizeIn(const Metadata& metadata);

/// Describes the model in `conversion` (method and schedule must be set). Must precede finishFused().
void summarise(const State& state, Conversion& conversion);

/// Returns the method and schedule for an encoder with this number of blocks. Throws cv::Exception
/// (StsOutOfRange) if options exclude each other, or if a reducer or block does not exist.
Merging mergingFor(const ConvertOptions& options, int blocks);

/// Returns how many of `tokens` image tokens a merge usually leaves; empty if unknown.
std::optional<double> usuallyLeft(const std::string& method, double tokens);

/// Returns whether the graph selects the positions with the highest scores, as detectors do.
bool choosesByScore(const Graph& graph);

/// Returns a description of mpm.detections for the report; empty if the metadata lack this key.
std::string describeDetections(const std::map<std::string, std::string>& metadata);

}  // namespace mpm::models

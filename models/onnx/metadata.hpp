// What a converted file says about itself: classes, pixels, size, detections.
#pragma once

#include <optional>
#include <string>

#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Throws cv::Exception (StsOutOfRange) if the options name another number of classes than the scores have:
/// with a name too few, classes would silently get the wrong name or none.
void checkClasses(const ConvertOptions& options, const Graph& graph);

/// The number of classes cannot be seen in labels, so that they get names; those of the options replace them.
void nameClasses(std::int64_t count, Graph& graph);

/// Names that the exporter has noted, if they are as many as the classes; of a detector, mpm.detections names
/// the output that has these.
void nameClassesAsExported(Graph& graph);

/// mpm.detections: as the options say, else as it is, else, if `guess`, as the export's declarations and its
/// results on one random image of the size `image` suggest. `results` are in the order of the export's
/// outputs, perhaps with more behind them. Options that are not an object, or name outputs that do not exist
/// or whose results have other shapes than boxes, scores, masks and labels, end in cv::Exception
/// (StsOutOfRange).
void describeBoxes(const ConvertOptions& options, bool guess, const Graph& original,
                   const List<Tensor>& results, const cv::Size& image, Graph& graph);

/// The metadata of a converted model stays unless the options replace it.
void writeMetadata(const ConvertOptions& options, const Conversion& conversion, const std::string& digest,
                   Graph& graph);

using Metadata = std::map<std::string, std::string>;

/// The values of the options, else of the model, else of the exporter (`image_normalize`, `norm_mean` and
/// `norm_std`), else ImageNet's for a detector and 0.5 for others. Notes that cannot be used are reported in
/// `warnings` and left out.
Pixels pixelsFor(const ConvertOptions& options, const Metadata& metadata, bool detector,
                 std::vector<std::string>& warnings);

/// The names in `classes` or `names`, by id; empty if their number is not `count`. Without a count all names,
/// with an empty one for an id that has none.
std::vector<std::string> classesIn(const Metadata& metadata, std::optional<std::int64_t> count);

/// `imgsz_h` and `imgsz_w`; empty if absent or no size.
cv::Size sizeIn(const Metadata& metadata);

/// Of a state that is not lowered. Reads method and schedule from `conversion` and fills in the rest.
void summarise(const State& state, Conversion& conversion);

/// Of an export whose encoder has so many blocks. Throws cv::Exception (StsOutOfRange) if the options exclude
/// each other or name a reducer or a block that does not exist.
Merging mergingFor(const ConvertOptions& options, int blocks);

/// Image tokens that are usually left of `tokens` after one merge; none if that is not known.
std::optional<double> usuallyLeft(const std::string& method, double tokens);

/// Whether the graph selects several positions by score, as detectors do.
bool choosesByScore(const Graph& graph);

/// One line for the report; empty if there is no metadata.
std::string describeDetections(const std::map<std::string, std::string>& metadata);

}  // namespace mpm::models

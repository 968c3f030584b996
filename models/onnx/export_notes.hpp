// Notes of exporters beside the graph: pixels, classes, size.
#pragma once

#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

using Metadata = std::map<std::string, std::string>;

/// The values of the options, else of the model, else of the exporter (`image_normalize`, `norm_mean` and
/// `norm_std`), else ImageNet's for a detector and 0.5 for others. Notes that cannot be used are reported in
/// `warnings` and left out.
Pixels pixelsFor(const ConvertOptions& options, const Metadata& metadata, bool detector,
                 std::vector<std::string>& warnings);

/// The names in `classes` or `names`, by id; empty if their number is not `count`.
std::vector<std::string> classesIn(const Metadata& metadata, std::int64_t count);

/// `imgsz_h` and `imgsz_w`; empty if absent or no size.
cv::Size sizeIn(const Metadata& metadata);

}  // namespace mpm::models

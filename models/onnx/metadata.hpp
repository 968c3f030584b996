// What a converted file says about itself: classes, pixels, size, detections.
#pragma once

#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Throws cv::Exception (StsOutOfRange) if the options name another number of classes than the scores have:
/// with a name too few, classes would silently get the wrong name or none.
void checkClasses(const ConvertOptions& options, const Graph& graph);

/// The number of classes cannot be seen in labels, so that they get names; those of the options replace them.
void nameClasses(std::int64_t count, Graph& graph);

/// Names that the exporter has noted, if they are as many as the classes.
void nameClassesAsExported(Graph& graph);

/// mpm.detections: as the options say, else as it is, else `guess` if that is not empty.
void describeBoxes(const ConvertOptions& options, const std::string& guess, Graph& graph);

/// The metadata of a converted model stays unless the options replace it.
void writeMetadata(const ConvertOptions& options, const Conversion& conversion, const std::string& digest,
                   Graph& graph);

}  // namespace mpm::models

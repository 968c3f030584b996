// The options of a conversion.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::models {

enum class Form {
    Fused,  ///< an MpmEncoder replaces the blocks; for every version of OpenCV; the fastest form
    Layers  ///< the original blocks, with MpmMerge and MpmRestore; for engines with dynamic shapes
};

/// The tokens that decoders compute: all tokens, or merged tokens. A decoder can compute merged tokens if
/// each image token of its input depends on a single image token of the encoder.
enum class Decoder { Full, Merged };

struct ConvertOptions {
    /// A reducer, written as for Encoder::setMethod ("tome:r=13"), or "none". If absent: a converted model
    /// keeps its method, unless `blocks` is set. In all other cases, the method is "mpm" if `blocks` is set
    /// or the form is layers, else "gentle".
    std::optional<std::string> method;
    /// Blocks before which tokens merge. If absent: the method's usual blocks; for a method without usual
    /// blocks, such as "mpm", 2 and 5 if these blocks exist.
    std::optional<std::vector<int>> blocks;
    Form form = Form::Fused;
    cv::Size size;                           ///< empty: the export's size
    int batch = 0;                           ///< 0: the export's batch
    std::optional<Decoder> decoder;          ///< absent: Full, or unchanged in a converted model
    std::vector<std::string> outputs;        ///< names of the outputs to keep; empty: all
    std::map<std::string, std::string> set;  ///< values of scalar inputs, which become constants
    bool labels = false;                     ///< whether the output is class ids at image size, not scores
    std::vector<std::string> classes;        ///< class names by id
    bool allClasses = false;                 ///< whether to reject `classes` that do not name each class
    std::vector<cv::Vec3b> palette;          ///< RGB by id
    std::optional<cv::Scalar> mean, deviation;
    std::string detections;      ///< the metadata mpm.detections; empty: guessed; "none": removed
    std::int64_t maxMemory = 0;  ///< bytes; 0: 1 GiB plus 16 times the size of the file and its external data
    double maxSeconds = 0;       ///< 0: 25, plus 5 for each MiB of the file and its external data
};

}  // namespace mpm::models

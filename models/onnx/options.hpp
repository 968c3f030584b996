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
    Fused,  ///< an MpmEncoder replaces the blocks: runs in every OpenCV, fastest
    Layers  ///< the original blocks, MpmMerge and MpmRestore between them: for engines with dynamic shapes
};

/// Whether decoders that read the encoder's tokens row by row compute merged tokens.
enum class Decoder { Full, Merged };

struct ConvertOptions {
    /// A reducer in the form of Encoder::setMethod, or "none". Absent: "mpm" if `blocks` is given or the form
    /// is layers, else "gentle"; a converted model keeps its method unless `blocks` is given.
    std::optional<std::string> method;
    /// Blocks before which tokens merge. Absent: the method's; for mutual pairs 2 and 5, if they exist.
    std::optional<std::vector<int>> blocks;
    Form form = Form::Fused;
    cv::Size size;                           ///< empty: the export's size
    int batch = 0;                           ///< 0: the export's batch
    std::optional<Decoder> decoder;          ///< absent: full, or as it is in a converted model
    std::vector<std::string> outputs;        ///< names of the outputs to keep; empty: all
    std::map<std::string, std::string> set;  ///< values of scalar inputs, which become constants
    bool labels = false;                     ///< class ids at image size instead of scores
    std::vector<std::string> classes;        ///< names by id
    bool allClasses = false;                 ///< rejects `classes` unless it names each class
    std::vector<cv::Vec3b> palette;          ///< RGB by id
    std::optional<cv::Scalar> mean, deviation;
    std::string detections;      ///< text of mpm.detections; empty: guessed; "none": left out
    std::int64_t maxMemory = 0;  ///< bytes; 0: 1 GiB plus 16 times the size of the file and its external data
    double maxSeconds = 0;       ///< 0: 25, plus 5 for each MiB
};

}  // namespace mpm::models

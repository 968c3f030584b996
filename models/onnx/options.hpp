// The choices of a conversion.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::models {

enum class Form {
    Fused,  ///< an MpmEncoder instead of the blocks: every OpenCV, fastest
    Layers  ///< the original blocks with MpmMerge and MpmRestore between them: engines with dynamic shapes
};

/// Whether decoders that read the encoder's tokens row by row compute merged tokens.
enum class Decoder { Full, Merged };

struct ConvertOptions {
    /// A reducer as Encoder::setMethod names it, or "none". Absent: mutual pairs if there are blocks or the
    /// form is layers; else "gentle", or as it is in a converted model.
    std::optional<std::string> method;
    /// Merge before these. Absent: the method's; of mutual pairs those of 2 and 5 that the model has.
    std::optional<std::vector<int>> blocks;
    Form form = Form::Fused;
    cv::Size size;                           ///< empty: the export's size
    int batch = 0;                           ///< 0: the export's batch
    std::optional<Decoder> decoder;          ///< absent: full, or as it is in a converted model
    std::vector<std::string> outputs;        ///< names of those to keep; empty: all
    std::map<std::string, std::string> set;  ///< values of scalar inputs, which are none afterwards
    bool labels = false;                     ///< class ids at image size instead of scores
    std::vector<std::string> classes;        ///< names by id
    bool allClasses = false;                 ///< rejects a number of names other than the number of classes
    std::vector<cv::Vec3b> palette;          ///< RGB by id
    std::optional<cv::Scalar> mean, deviation;
    std::string detections;      ///< text of mpm.detections; empty: guessed; "none": left out
    std::int64_t maxMemory = 0;  ///< bytes; 0: 1 GiB and 16 times the size of the file with external data
    double maxSeconds = 0;       ///< 0: 25, and 5 for each MiB
};

}  // namespace mpm::models

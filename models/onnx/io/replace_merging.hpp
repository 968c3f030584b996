// Another method and other blocks in a file that the converter has written.
#pragma once

#include <string>

#include "models/onnx/ir/encoder.hpp"

namespace mpm::models {

/// Changes attributes `method` and `schedule` of the backbone, the metadata `mpm.schedule` and the version of
/// the domain mpm, and nothing else. Atomic. Throws cv::Exception if the file cannot be read or written.
void replaceMerging(const std::string& path, const Merging& merging, int version);

}  // namespace mpm::models

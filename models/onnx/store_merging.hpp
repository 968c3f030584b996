// Stores a choice of method and blocks in a converted model.
#pragma once

#include <string>

#include "models/onnx/ir/encoder.hpp"

namespace mpm::models {

/// Nothing but attributes, metadata and the version of the domain changes. Atomic. Throws Refusal if the file
/// is no model of the fused form, cv::Exception if it cannot be written.
void storeMerging(const std::string& path, const Merging& merging);

}  // namespace mpm::models

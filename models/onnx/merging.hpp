// Which tokens a converted model merges, and how many are left.
#pragma once

#include <optional>

#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Of an export whose encoder has so many blocks. Throws cv::Exception (StsOutOfRange) if the options exclude
/// each other or name a reducer or a block that does not exist.
Merging mergingFor(const ConvertOptions& options, int blocks);

/// Image tokens that are usually left of `tokens` after one merge; none if that is not known.
std::optional<double> usuallyLeft(const std::string& method, double tokens);

}  // namespace mpm::models

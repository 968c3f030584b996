// Converts the ONNX export of a ViT to a model that merges tokens and that OpenCV runs.
#pragma once

#include <string>

#include "base/budget.hpp"
#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/list.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {

/// Converts `input`, proves that the converted model computes the same, and then writes `output` atomically.
/// Throws Refusal if the model cannot be converted, BudgetError if the conversion needs more memory or time
/// than the options allow, cv::Exception if an option is invalid or the file cannot be written.
Conversion convertModel(const std::string& input, const std::string& output, const ConvertOptions& options);

}  // namespace mpm::models

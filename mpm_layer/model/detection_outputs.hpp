// The metadata mpm.detections.
#pragma once

#include <nlohmann/json.hpp>

#include <mpm/mpm.hpp>

namespace mpm {

constexpr const char* kDetectionsForm =
    "an object with boxes and scores (names of outputs), optionally masks, labels, size_input (names), "
    "format (cxcywh, xyxy), scale (unit, pixels), activation (sigmoid, softmax, none), background (an index) "
    "and size_order (wh, hw)";

/// Null if the value is not as kDetectionsForm describes.
std::optional<DetectionOutputs> detectionOutputsFrom(const nlohmann::json& value);

}  // namespace mpm

// The few fields of an ONNX file that the layer needs, read by a small, bounded reader: no protobuf, and
// weights are skipped, not loaded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>
#include <nlohmann/json.hpp>

namespace mpm {

struct OnnxMetadata {
    std::map<std::string, std::string> properties;  ///< those of domain `mpm`
    std::string input;                              ///< name of the graph's first input that is no weight
    std::vector<int> inputShape;                    ///< of `input`; 0 for a dynamic dimension
    std::set<std::string> int64Inputs;              ///< names; weights may be among them
};

/// Throws if the file is missing, cut short or no ONNX model, or has a later version of the domain `mpm`.
OnnxMetadata readOnnxMetadata(const std::string& path);

constexpr const char* kDetectionsForm =
    "an object with boxes and scores (names of outputs), optionally masks, labels, size_input (names), "
    "format (cxcywh, xyxy), scale (unit, pixels), activation (sigmoid, softmax, none), background (an index) "
    "and size_order (wh, hw)";

/// Null if the value is not as kDetectionsForm describes.
std::optional<DetectionOutputs> detectionOutputsFrom(const nlohmann::json& value);

}  // namespace mpm

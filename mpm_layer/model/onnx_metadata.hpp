// Reads the few fields of an ONNX file that the library needs, without Protobuf and in bounded memory. Skips
// weights.
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
    std::map<std::string, std::string> properties;  ///< with keys "mpm.*"
    std::string input;                              ///< name of the graph's first input that is not a weight
    std::vector<int> inputShape;                    ///< shape of `input`; 0 for a dynamic dimension
    std::set<std::string> int64Inputs;              ///< names of inputs; weights may be among them
};

/// Throws if the file is missing, incomplete or not an ONNX model, or if the version of the domain `mpm` in
/// the file is too new.
OnnxMetadata readOnnxMetadata(const std::string& path);

constexpr const char* kDetectionsForm =
    "an object with boxes and scores (names of outputs), optionally masks, labels, size_input (names), "
    "format (cxcywh, xyxy), scale (unit, pixels), activation (sigmoid, softmax, none), background (an index) "
    "and size_order (wh, hw)";

/// Returns std::nullopt if the value is not as kDetectionsForm describes.
std::optional<DetectionOutputs> detectionOutputsFrom(const nlohmann::json& value);

}  // namespace mpm

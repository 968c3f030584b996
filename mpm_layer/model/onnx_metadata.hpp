// The few fields of an ONNX file that the layer needs, read by a small, bounded reader: no protobuf, and
// weights are skipped, not loaded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mpm {

struct OnnxMetadata {
    /// The version of the domain `mpm`; 0 if the file does not name it.
    std::uint64_t domainVersion = 0;
    std::map<std::string, std::string> properties;  ///< those of domain `mpm`
    /// The shape of the graph's first input that is no weight; 0 for a dynamic dimension.
    std::vector<int> inputShape;
    std::set<std::string> int64Inputs;  ///< names; weights may be among them
};

/// Throws if the file is missing, cut short or no ONNX model.
OnnxMetadata readOnnxMetadata(const std::string& path);

}  // namespace mpm

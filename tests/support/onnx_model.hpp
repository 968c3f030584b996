// Builds small ONNX files, also with operators of the domain `mpm`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/encoder_case.hpp"

namespace mpm::test {

/// A negative dimension is dynamic: the file has a name instead of a number.
using Dims = std::vector<int>;

class OnnxModel {
public:
    explicit OnnxModel(int opset = 13);
    ~OnnxModel();
    OnnxModel(OnnxModel&&) noexcept;

    OnnxModel& input(const std::string& name, const Dims& dims, bool integers = false);
    OnnxModel& output(const std::string& name, const Dims& dims, bool integers = false);
    OnnxModel& constant(const std::string& name, const cv::Mat& value, const Dims& dims = {});
    OnnxModel& constant(const std::string& name, const std::vector<long long>& values);
    /// Adds a node. The calls that follow set the attributes of this node.
    OnnxModel& node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::string& domain = "");
    OnnxModel& ints(const std::string& name, const std::vector<int>& values);
    OnnxModel& attribute(const std::string& name, int value);
    OnnxModel& attribute(const std::string& name, float value);
    OnnxModel& attribute(const std::string& name, const std::string& value);
    /// Sets the prefix of the names of all nodes. Different prefixes imitate networks of different files.
    OnnxModel& prefix(const std::string& text);
    OnnxModel& domainVersion(int version);
    OnnxModel& metadata(const std::string& key, const std::string& value);

    std::string bytes() const;
    void write(const std::string& path) const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Adds an MpmEncoder. `inputs` are the names of the inputs before the weights.
void addEncoder(OnnxModel& model, const EncoderCase& encoder, std::vector<std::string> inputs,
                const std::vector<std::string>& outputs);

/// Returns a model with the input "tokens", an MpmEncoder and an output for each tap: "tokens0", "tokens1",
/// ... If `batch` or `tokens` is negative, the dimension is dynamic.
OnnxModel encoderModel(const EncoderCase& encoder, int batch, int tokens);

}  // namespace mpm::test

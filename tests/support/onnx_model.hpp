// Small ONNX files made by hand, with the operators of domain `mpm` in them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/encoder_case.hpp"

namespace mpm::test {

/// A dimension below 0 is written as a name (dynamic).
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
    /// Attributes of the node that was added last follow.
    OnnxModel& node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::string& domain = "");
    OnnxModel& ints(const std::string& name, const std::vector<int>& values);
    OnnxModel& attribute(const std::string& name, int value);
    OnnxModel& attribute(const std::string& name, float value);
    OnnxModel& attribute(const std::string& name, const std::string& value);
    /// The names of all nodes begin so: networks of different files rarely have the same names.
    OnnxModel& prefix(const std::string& text);
    OnnxModel& domainVersion(int version);
    OnnxModel& metadata(const std::string& key, const std::string& value);

    std::string bytes() const;
    void write(const std::string& path) const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// An MpmEncoder between existing values; `inputs` are those before the weights.
void addEncoder(OnnxModel& model, const EncoderCase& encoder, std::vector<std::string> inputs,
                const std::vector<std::string>& outputs);

/// tokens -> MpmEncoder -> tokens0, tokens1, ... for each tap; tokens' count and batch as given, below 0
/// dynamic.
OnnxModel encoderModel(const EncoderCase& encoder, int batch, int tokens);

}  // namespace mpm::test

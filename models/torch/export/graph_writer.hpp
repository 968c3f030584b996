// Writes ONNX node by node. Included by the exporter only, because it includes protobuf.
#pragma once

#include <string>
#include <vector>

#include <onnx/onnx_pb.h>
#include <torch/types.h>

namespace mpm::models {

class GraphWriter {
public:
    GraphWriter(const std::string& graphName, int opset);

    /// Adds a node of one output and returns the output's name.
    std::string node(const std::string& op, const std::vector<std::string>& inputs);

    GraphWriter& with(const std::string& attribute, int64_t value);  ///< of the node added last
    GraphWriter& with(const std::string& attribute, const std::vector<int64_t>& values);
    GraphWriter& with(const std::string& attribute, const std::string& value);
    GraphWriter& with(const std::string& attribute, float value);

    /// Constants: f32 or i64. Parameters keep their names.
    std::string constant(const torch::Tensor& tensor, const std::string& name = {});
    std::string shape(const std::vector<int64_t>& dims) {
        return constant(torch::tensor(dims, torch::kInt64));
    }

    void input(const std::string& name, const std::vector<int64_t>& dims);
    /// Renames a value and adds it to the outputs.
    void output(const std::string& value, const std::string& name, const std::vector<int64_t>& dims);
    void metadata(const std::string& key, const std::string& value);

    void save(const std::string& path) const;

private:
    onnx::ModelProto m_model;
    int m_count = 0;
};

}  // namespace mpm::models

#include "models/torch/export/graph_writer.hpp"

#include <fstream>

#include "base/pending_file.hpp"

namespace mpm::models {

GraphWriter::GraphWriter(const std::string& graphName, int opset) {
    m_model.set_ir_version(7);
    m_model.set_producer_name("mpm-models");
    m_model.add_opset_import()->set_version(opset);
    m_model.mutable_graph()->set_name(graphName);
}

std::string GraphWriter::node(const std::string& op, const std::vector<std::string>& inputs) {
    auto* node = m_model.mutable_graph()->add_node();
    const std::string name = op + "_" + std::to_string(m_count++);
    node->set_op_type(op);
    node->set_name(name);
    for (const auto& input : inputs)
        node->add_input(input);
    node->add_output(name + "_out");
    return name + "_out";
}

static onnx::AttributeProto* attributeOf(onnx::ModelProto& model, const std::string& name) {
    auto* graph = model.mutable_graph();
    auto* attribute = graph->mutable_node(graph->node_size() - 1)->add_attribute();
    attribute->set_name(name);
    return attribute;
}

GraphWriter& GraphWriter::with(const std::string& name, int64_t value) {
    auto* attribute = attributeOf(m_model, name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
    return *this;
}

GraphWriter& GraphWriter::with(const std::string& name, const std::vector<int64_t>& values) {
    auto* attribute = attributeOf(m_model, name);
    attribute->set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values)
        attribute->add_ints(value);
    return *this;
}

GraphWriter& GraphWriter::with(const std::string& name, const std::string& value) {
    auto* attribute = attributeOf(m_model, name);
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value);
    return *this;
}

GraphWriter& GraphWriter::with(const std::string& name, float value) {
    auto* attribute = attributeOf(m_model, name);
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(value);
    return *this;
}

std::string GraphWriter::constant(const torch::Tensor& tensor, const std::string& name) {
    const auto data = tensor.detach().to(torch::kCPU).contiguous();
    const bool isFloat = data.scalar_type() == torch::kFloat32;
    TORCH_CHECK(isFloat || data.scalar_type() == torch::kInt64, "constants are f32 or i64");
    auto* proto = m_model.mutable_graph()->add_initializer();
    proto->set_name(name.empty() ? "constant_" + std::to_string(m_count++) : name);
    proto->set_data_type(isFloat ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
    for (int64_t dim : data.sizes())
        proto->add_dims(dim);
    proto->set_raw_data(data.data_ptr(), static_cast<size_t>(data.numel()) * data.element_size());
    return proto->name();
}

static void describe(onnx::ValueInfoProto* info, const std::string& name, const std::vector<int64_t>& dims) {
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims)
        type->mutable_shape()->add_dim()->set_dim_value(dim);
}

void GraphWriter::input(const std::string& name, const std::vector<int64_t>& dims) {
    describe(m_model.mutable_graph()->add_input(), name, dims);
}

void GraphWriter::output(const std::string& value, const std::string& name,
                         const std::vector<int64_t>& dims) {
    for (auto& node : *m_model.mutable_graph()->mutable_node()) {
        for (auto& input : *node.mutable_input()) {
            if (input == value) input = name;
        }
        for (auto& output : *node.mutable_output()) {
            if (output == value) output = name;
        }
    }
    describe(m_model.mutable_graph()->add_output(), name, dims);
}

void GraphWriter::metadata(const std::string& key, const std::string& value) {
    auto* entry = m_model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
}

void GraphWriter::save(const std::string& path) const {
    PendingFile pending(path);
    std::ofstream file(pending.path(), std::ios::binary);
    TORCH_CHECK(m_model.SerializeToOstream(&file) && file.flush(), path, " cannot be written");
    file.close();
    pending.keep();
}

}  // namespace mpm::models

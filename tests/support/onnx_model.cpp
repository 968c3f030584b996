#include "support/onnx_model.hpp"

#include <fstream>

#include <onnx/onnx_pb.h>

namespace mpm::test {

struct OnnxModel::Impl {
    onnx::ModelProto model;
    onnx::GraphProto& graph() { return *model.mutable_graph(); }
    onnx::AttributeProto& attribute(const std::string& name, onnx::AttributeProto::AttributeType type) {
        onnx::AttributeProto& added = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
        added.set_name(name);
        added.set_type(type);
        return added;
    }
};

namespace {

void setType(onnx::ValueInfoProto& value, const std::string& name, const Dims& dims, int type) {
    value.set_name(name);
    onnx::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (size_t i = 0; i < dims.size(); ++i) {
        onnx::TensorShapeProto::Dimension& dim = *tensor.mutable_shape()->add_dim();
        if (dims[i] >= 0) {
            dim.set_dim_value(dims[i]);
        } else {
            dim.set_dim_param("d" + std::to_string(i));
        }
    }
}

}  // namespace

OnnxModel::OnnxModel(int opset) : m_impl(std::make_unique<Impl>()) {
    m_impl->model.set_ir_version(7);
    m_impl->model.set_producer_name("mpm-test");
    m_impl->model.add_opset_import()->set_version(opset);
    onnx::OperatorSetIdProto& own = *m_impl->model.add_opset_import();
    own.set_domain("mpm");
    own.set_version(1);
    m_impl->graph().set_name("test");
}

OnnxModel::~OnnxModel() = default;
OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;

OnnxModel& OnnxModel::input(const std::string& name, const Dims& dims, bool integers) {
    setType(*m_impl->graph().add_input(), name, dims,
            integers ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
    return *this;
}

OnnxModel& OnnxModel::output(const std::string& name, const Dims& dims, bool integers) {
    setType(*m_impl->graph().add_output(), name, dims,
            integers ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
    return *this;
}

OnnxModel& OnnxModel::constant(const std::string& name, const cv::Mat& value, const Dims& dims) {
    onnx::TensorProto& tensor = *m_impl->graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    if (dims.empty()) {
        for (int i = 0; i < value.dims; ++i)
            tensor.add_dims(value.size[i]);
    } else {
        for (int d : dims)
            tensor.add_dims(d);
    }
    const cv::Mat whole = value.isContinuous() ? value : value.clone();
    tensor.set_raw_data(whole.data, whole.total() * sizeof(float));
    return *this;
}

OnnxModel& OnnxModel::constant(const std::string& name, const std::vector<long long>& values) {
    onnx::TensorProto& tensor = *m_impl->graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<long long>(values.size()));
    for (long long v : values)
        tensor.add_int64_data(v);
    return *this;
}

OnnxModel& OnnxModel::node(const std::string& type, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const std::string& domain) {
    onnx::NodeProto& added = *m_impl->graph().add_node();
    added.set_op_type(type);
    added.set_domain(domain);
    added.set_name("node" + std::to_string(m_impl->graph().node_size()));
    for (const std::string& name : inputs)
        added.add_input(name);
    for (const std::string& name : outputs)
        added.add_output(name);
    return *this;
}

OnnxModel& OnnxModel::ints(const std::string& name, const std::vector<int>& values) {
    if (values.empty()) return *this;  // OpenCV 4.6 rejects empty lists
    onnx::AttributeProto& added = m_impl->attribute(name, onnx::AttributeProto::INTS);
    for (int v : values)
        added.add_ints(v);
    return *this;
}

OnnxModel& OnnxModel::attribute(const std::string& name, int value) {
    m_impl->attribute(name, onnx::AttributeProto::INT).set_i(value);
    return *this;
}

OnnxModel& OnnxModel::attribute(const std::string& name, float value) {
    m_impl->attribute(name, onnx::AttributeProto::FLOAT).set_f(value);
    return *this;
}

OnnxModel& OnnxModel::attribute(const std::string& name, const std::string& value) {
    m_impl->attribute(name, onnx::AttributeProto::STRING).set_s(value);
    return *this;
}

OnnxModel& OnnxModel::prefix(const std::string& text) {
    for (onnx::NodeProto& node : *m_impl->graph().mutable_node())
        node.set_name(text + node.name());
    return *this;
}

OnnxModel& OnnxModel::domainVersion(int version) {
    m_impl->model.mutable_opset_import(1)->set_version(version);
    return *this;
}

OnnxModel& OnnxModel::metadata(const std::string& key, const std::string& value) {
    onnx::StringStringEntryProto& entry = *m_impl->model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
    return *this;
}

std::string OnnxModel::bytes() const {
    return m_impl->model.SerializeAsString();
}

void OnnxModel::write(const std::string& path) const {
    std::ofstream stream(path, std::ios::binary);
    stream << bytes();
    if (!stream) CV_Error(cv::Error::StsError, "cannot write " + path);
}

void addEncoder(OnnxModel& model, const EncoderCase& encoder, std::vector<std::string> inputs,
                const std::vector<std::string>& outputs) {
    const EncoderOptions& o = encoder.options;
    std::string names = o.map ? "tokens map" : "tokens";
    for (const auto& [name, value] : encoder.ordered) {
        const bool vector = value.dims == 2 && value.rows == 1;
        const std::string constant = outputs.front() + "/" + name;  // OpenCV 5 requires unique names
        model.constant(constant, value, vector ? Dims{value.cols} : Dims{});
        inputs.push_back(constant);
        names += " " + name;
    }
    model.node("MpmEncoder", inputs, outputs, "mpm");
    model.attribute("inputs", names).attribute("blocks", o.blocks).attribute("heads", o.heads);
    model.attribute("special_tokens", o.special).attribute("first_block", o.firstBlock);
    model.attribute("activation", o.activation)
        .ints("schedule", o.schedule)
        .ints("taps", encoder.config.taps);
    model.ints("tap_norm", encoder.config.tapNorm);
    if (!o.rope.empty()) model.attribute("rope", o.rope);
    const auto kind = [](NormKind norm) { return std::string(namesOf(norm).attribute); };
    if (o.norm != NormKind::Layer) model.attribute("norm", kind(o.norm));
    if (o.innerNorm != o.norm) model.attribute("inner_norm", kind(o.innerNorm));
    if (o.parallel) model.attribute("parallel", 1);
    if (o.scale != 0) model.attribute("scale", o.scale);
    if (o.trailing != 0) model.attribute("trailing_tokens", o.trailing);
    if (o.mapOutput) model.attribute("map_output", 1);
    if (!o.method.empty()) model.attribute("method", o.method);
    if (!o.chain.empty()) model.attribute("chain", o.chain);
    if (!o.grid.empty()) model.ints("grid", {o.grid.height, o.grid.width});
    if (!o.window.empty()) model.ints("window", {o.window.height, o.window.width});
    if (!o.globalBlocks.empty()) model.ints("global_blocks", o.globalBlocks);
    if (o.padding) model.attribute("padding", 1);
    if (o.chainBlocks != 0) model.attribute("chain_blocks", o.chainBlocks);
}

OnnxModel encoderModel(const EncoderCase& encoder, int batch, int tokens) {
    const EncoderOptions& o = encoder.options;
    OnnxModel model;
    const Dims dims = {batch, tokens < 0 ? tokens : o.specialRows() + tokens + o.trailing, o.dim()};
    model.input("tokens", dims);
    std::vector<std::string> inputs = {"tokens"}, outputs;
    if (o.map) {
        model.input("map", {batch, tokens});
        inputs.push_back("map");
    }
    for (size_t t = 0; t < encoder.config.taps.size(); ++t)
        outputs.push_back("tokens" + std::to_string(t));
    addEncoder(model, encoder, inputs, outputs);
    for (const std::string& name : outputs)
        model.output(name, dims);
    return model;
}

}  // namespace mpm::test

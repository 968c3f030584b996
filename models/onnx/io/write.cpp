#include "models/onnx/io/write.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include <onnx/onnx_pb.h>
#include <opencv2/core.hpp>

#include "base/checked.hpp"
#include "models/onnx/io/read_tensor.hpp"
#include "models/onnx/io/zero_rows.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

using Proto = onnx::TensorProto;

int elementType(Type type) {
    return type == Type::Float ? Proto::FLOAT : type == Type::Bool ? Proto::BOOL : Proto::INT64;
}

void fill(const Tensor& tensor, Proto& proto) {
    for (int64_t extent : tensor.shape())
        proto.add_dims(extent);
    proto.set_data_type(elementType(tensor.type()));
    if (tensor.type() == Type::Bool) {
        std::string bytes;
        for (int64_t value : tensor.toInts())
            bytes += static_cast<char>(value != 0);
        proto.set_raw_data(bytes);
        return;
    }
    proto.set_raw_data(tensor.identity(), static_cast<size_t>(tensor.size()) * (tensor.isFloat() ? 4 : 8));
}

struct ValueWriter {
    onnx::AttributeProto& proto;

    void operator()(int64_t value) const { proto.set_i(value); }
    void operator()(float value) const { proto.set_f(value); }
    void operator()(const std::string& value) const { proto.set_s(value); }
    void operator()(const Tensor& value) const { fill(value, *proto.mutable_t()); }
    void operator()(const List<float>& values) const {
        proto.mutable_floats()->Add(values.begin(), values.end());
    }
    void operator()(const List<int64_t>& values) const {
        proto.mutable_ints()->Add(values.begin(), values.end());
    }
    void operator()(const List<std::string>& values) const {
        proto.mutable_strings()->Add(values.begin(), values.end());
    }
};

}  // namespace

void writeAttribute(const std::string& name, const Attribute& a, onnx::AttributeProto& proto) {
    using P = onnx::AttributeProto;
    // Must have the order of the types in Attribute::value.
    constexpr P::AttributeType kTypes[] = {P::INT,    P::FLOAT, P::STRING, P::TENSOR,
                                           P::FLOATS, P::INTS,  P::STRINGS};
    proto.set_name(name);
    proto.set_type(kTypes[a.value.index()]);
    std::visit(ValueWriter{proto}, a.value);
}

namespace {

class Writer {
public:
    explicit Writer(const Graph& graph)
        : m_graph(graph), m_version(domainVersion(graph)), m_names(graph.values.size()) {}

    onnx::ModelProto build() {
        m_model.set_ir_version(8);
        m_model.set_producer_name("mpm");
        addOpset("", m_graph.opset);
        addOpset("mpm", m_version);
        for (const auto& [key, value] : m_graph.metadata) {
            auto* entry = m_model.add_metadata_props();
            entry->set_key(key);
            entry->set_value(value);
        }
        onnx::GraphProto& graph = *m_model.mutable_graph();
        graph.set_name("mpm");
        namePorts(graph);
        for (const Node& node : m_graph.nodes)
            addNode(node, graph);
        addCopies(graph);
        const auto merges = [](const Node& node) { return node.op == "MpmMerge"; };
        if (std::any_of(m_graph.nodes.begin(), m_graph.nodes.end(), merges)) addFunctionBodies(m_model);
        return std::move(m_model);
    }

private:
    void addOpset(const std::string& domain, int version) {
        auto* set = m_model.add_opset_import();
        set->set_domain(domain);
        set->set_version(version);
    }

    void namePorts(onnx::GraphProto& graph) {
        for (const Port& port : m_graph.inputs) {
            name(port.value, port.name);
            describe(port, *graph.add_input());
        }
        for (const Port& port : m_graph.outputs) {
            const bool free = m_names[port.value].empty() && !m_graph.isConstant(port.value);
            if (free) {
                name(port.value, port.name);
            } else {
                m_copies.push_back(&port);
                m_taken.insert(port.name);
            }
            describe(port, *graph.add_output());
        }
    }

    void name(int value, const std::string& wanted) {
        m_names[value] = wanted;
        m_taken.insert(wanted);
    }

    const std::string& nameOf(int value) {
        std::string& name = m_names[value];
        if (!name.empty()) return name;
        const std::string base = m_graph.values[value].name.empty() ? "value" : m_graph.values[value].name;
        name = base;
        while (!m_taken.insert(name).second)
            name = base + "." + std::to_string(m_next++);
        return name;
    }

    static void describe(const Port& port, onnx::ValueInfoProto& info) {
        info.set_name(port.name);
        auto* type = info.mutable_type()->mutable_tensor_type();
        type->set_elem_type(elementType(port.type));
        auto* shape = type->mutable_shape();
        for (size_t k = 0; k < port.dims.size(); ++k) {
            auto* dim = shape->add_dim();
            if (port.dims[k] >= 0) {
                dim->set_dim_value(port.dims[k]);
            } else {
                const bool named = k < port.dimNames.size() && !port.dimNames[k].empty();
                dim->set_dim_param(named ? port.dimNames[k] : "dim" + std::to_string(k));
            }
        }
    }

    void addNode(const Node& node, onnx::GraphProto& graph) {
        onnx::NodeProto& proto = *graph.add_node();
        proto.set_op_type(node.op);
        proto.set_domain(node.domain);
        proto.set_name(node.op + "_" + std::to_string(graph.node_size()));
        const int64_t zeros = m_version > 2 ? zeroRows(m_graph, node) : 0;
        if (zeros > 0) writeAttribute("zeros", Attribute::of(zeros), *proto.add_attribute());
        for (size_t k = 0; k < node.inputs.size(); ++k) {
            const int in = node.inputs[k];
            if (in != kAbsent && m_graph.isConstant(in)) addConstant(in, graph, k == 1 ? zeros : 0);
            proto.add_input(in == kAbsent ? "" : nameOf(in));
        }
        for (int out : node.outputs)
            proto.add_output(out == kAbsent ? "" : nameOf(out));
        for (const auto& [key, attribute] : node.attributes)
            writeAttribute(key, attribute, *proto.add_attribute());
    }

    // Adds a constant as an initializer, without its first `skipped` rows.
    void addConstant(int value, onnx::GraphProto& graph, int64_t skipped = 0) {
        if (!m_written.insert(value).second) return;
        Proto& proto = *graph.add_initializer();
        proto.set_name(nameOf(value));
        const Tensor& tensor = m_graph.constant(value);
        fill(skipped == 0 ? tensor : withoutRows(tensor, skipped), proto);
    }

    // Copies each output that is also an input, a constant or another output, because each output needs a
    // separate name. Uses Reshape, because OpenCV 4.6 has no Identity.
    void addCopies(onnx::GraphProto& graph) {
        for (const Port* port : m_copies) {
            if (m_graph.isConstant(port->value)) addConstant(port->value, graph);
            Proto& target = *graph.add_initializer();
            target.set_name(port->name + ".shape");
            fill(Tensor::vector(std::vector<int64_t>(port->dims.size(), 0)), target);
            onnx::NodeProto& proto = *graph.add_node();
            proto.set_op_type("Reshape");
            proto.add_input(nameOf(port->value));
            proto.add_input(target.name());
            proto.add_output(port->name);
        }
    }

    const Graph& m_graph;
    const int m_version;
    std::vector<std::string> m_names;
    std::set<std::string> m_taken;
    std::set<int> m_written;
    std::vector<const Port*> m_copies;
    int m_next = 1;
    onnx::ModelProto m_model;
};

}  // namespace

void writeModel(const Graph& graph, const std::string& path, const std::string& name) {
    Held held;  // the message has a copy of every constant
    for (const Value& value : graph.values) {
        if (value.constant.known())
            held.add(checkedProduct<int64_t>(value.constant.size(), value.constant.isFloat() ? 4 : 8),
                     "the new model");
    }
    const onnx::ModelProto model = Writer(graph).build();
    if (model.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max()))
        throw Refusal("the converted model is larger than 2 GiB, which a single ONNX file cannot hold");
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    const bool written = file && model.SerializeToOstream(&file) && file.flush();
    if (!written)
        CV_Error(cv::Error::StsError, (name.empty() ? path : name) + ": cannot be written (" +
                                          std::strerror(errno) + "); check the space left on the disk");
}

}  // namespace mpm::models

#include "models/onnx/read.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include "models/onnx/read_tensor.hpp"
#include "models/onnx/sequences.hpp"

namespace mpm::models {
namespace {

constexpr int kDeepest = 16;            // functions in functions, branches in branches
constexpr size_t kMostNodes = 2000000;  // inlining must not explode

using Names = std::map<std::string, int>;

class Builder {
public:
    Builder(std::shared_ptr<const onnx::ModelProto> model, std::string folder)
        : m_model(std::move(model)), m_folder(std::move(folder)) {
        for (const auto& function : m_model->functions()) {
            m_functions[function.domain() + ":" + function.name()] = &function;
        }
    }

    Graph build() {
        readOpset();
        m_graph.producer = m_model->producer_name() + " " + m_model->producer_version();
        for (const auto& entry : m_model->metadata_props())
            m_graph.metadata[entry.key()] = entry.value();
        const onnx::GraphProto& proto = m_model->graph();
        Names names;
        addInitializers(proto, names);
        for (const auto& info : proto.input())
            addInput(info, names);
        declareOutputs(proto.node(), names);
        addNodes(proto.node(), names, nullptr, 0);
        for (const auto& info : proto.output()) {
            Port port = portOf(info);
            port.value = valueOf(info.name(), names);
            m_graph.outputs.push_back(port);
        }
        if (m_graph.outputs.empty()) throw Refusal("the model has no outputs: not an ONNX model, or damaged");
        m_graph.sort();
        resolveSequences(m_graph);
        m_graph.prune();
        return std::move(m_graph);
    }

private:
    void readOpset() {
        for (const auto& set : m_model->opset_import()) {
            if (set.domain().empty() || set.domain() == "ai.onnx")
                m_graph.opset = static_cast<int>(set.version());
        }
        if (m_graph.opset < 7 || m_graph.opset > 1000) {
            throw Refusal("opset " + std::to_string(m_graph.opset) +
                          " of the standard operators is not supported: " + "export with opset 11 or later");
        }
    }

    void addInitializers(const onnx::GraphProto& proto, Names& names) {
        if (proto.sparse_initializer_size() != 0) throw Refusal("sparse initializers are not supported");
        for (const auto& tensor : proto.initializer()) {
            names[tensor.name()] = m_graph.addConstant(tensor.name(), readTensor(tensor, m_model, m_folder));
        }
    }

    static Port portOf(const onnx::ValueInfoProto& info) {
        Port port;
        port.name = info.name();
        if (info.has_type() && !info.type().has_tensor_type()) {
            throw Refusal("'" + info.name() + "' is not a tensor: only tensors can go in and out");
        }
        const auto& type = info.type().tensor_type();
        port.type = typeOf(type.elem_type());
        port.hasShape = type.has_shape();
        for (const auto& dim : type.shape().dim()) {
            const bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
            port.dims.push_back(fixed ? dim.dim_value() : -1);
            port.dimNames.push_back(dim.dim_param());
        }
        return port;
    }

    void addInput(const onnx::ValueInfoProto& info, Names& names) {
        if (names.count(info.name())) return;  // old files list initializers among the inputs
        Port port = portOf(info);
        port.value = names[info.name()] = m_graph.addValue(info.name());
        m_graph.inputs.push_back(port);
    }

    template <typename Nodes>
    void declareOutputs(const Nodes& nodes, Names& names) {
        for (const auto& node : nodes) {
            for (const std::string& name : node.output()) {
                if (name.empty()) continue;
                if (!names.emplace(name, static_cast<int>(m_graph.values.size())).second) {
                    throw Refusal("value '" + name + "' is produced twice: the file is damaged");
                }
                m_graph.addValue(name);
            }
        }
    }

    int valueOf(const std::string& name, const Names& names) const {
        if (name.empty()) return kAbsent;
        const auto found = names.find(name);
        if (found == names.end()) {
            throw Refusal("value '" + name + "' is used but nothing produces it: the file is damaged");
        }
        return found->second;
    }

    template <typename Nodes>
    void addNodes(const Nodes& nodes, const Names& names, const onnx::NodeProto* call, int depth) {
        if (depth > kDeepest) throw Refusal("functions or branches are nested too deeply");
        for (const auto& node : nodes) {
            if (m_graph.nodes.size() > kMostNodes) throw Refusal("the graph has too many nodes");
            const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
            const auto function = m_functions.find(domain + ":" + node.op_type());
            if (function != m_functions.end() && domain != "mpm") {
                inlineFunction(node, *function->second, names, depth);
            } else if (domain.empty() && node.op_type() == "If") {
                addBranches(node, names, call, depth);
            } else if (domain.empty() && node.op_type() == "Constant") {
                addConstantNode(node, names, call);
            } else {
                addNode(node, domain, names, call);
            }
        }
    }

    void addNode(const onnx::NodeProto& proto, const std::string& domain, const Names& names,
                 const onnx::NodeProto* call) {
        Node node;
        node.op = proto.op_type();
        node.domain = domain;
        node.name = proto.name();
        for (const std::string& name : proto.input())
            node.inputs.push_back(valueOf(name, names));
        for (const std::string& name : proto.output())
            node.outputs.push_back(valueOf(name, names));
        for (const auto& attribute : proto.attribute())
            addAttribute(attribute, node, call);
        m_graph.nodes.push_back(std::move(node));
    }

    void addAttribute(const onnx::AttributeProto& proto, Node& node, const onnx::NodeProto* call) {
        const onnx::AttributeProto* source = &proto;
        if (!proto.ref_attr_name().empty()) {
            source = nullptr;
            for (int k = 0; call && k < call->attribute_size(); ++k) {
                if (call->attribute(k).name() == proto.ref_attr_name()) source = &call->attribute(k);
            }
            if (!source) return;  // the caller left it at the operator's default
        }
        Attribute attribute;
        if (readAttribute(*source, m_model, m_folder, attribute)) node.attributes[proto.name()] = attribute;
    }

    void addConstantNode(const onnx::NodeProto& proto, const Names& names, const onnx::NodeProto* call) {
        if (proto.output_size() != 1) throw Refusal("a Constant node without an output: the file is damaged");
        Node node;
        for (const auto& attribute : proto.attribute())
            addAttribute(attribute, node, call);
        const int value = valueOf(proto.output(0), names);
        for (const auto& [key, a] : node.attributes) {
            Tensor tensor;
            if (key == "value") tensor = a.t;
            if (key == "value_float") tensor = Tensor::scalar(a.f);
            if (key == "value_floats")
                tensor = Tensor::floats({static_cast<int64_t>(a.floats.size())}, a.floats);
            if (key == "value_int") tensor = Tensor::ints({}, a.i);
            if (key == "value_ints") tensor = Tensor::vector(a.ints);
            if (tensor.known()) m_graph.values[value].constant = tensor;
        }
        if (!m_graph.values[value].constant.known()) {
            throw Refusal("Constant '" + proto.output(0) + "' holds a kind of value that is not supported");
        }
    }

    void inlineFunction(const onnx::NodeProto& call, const onnx::FunctionProto& function, const Names& outer,
                        int depth) {
        Names names;
        for (int k = 0; k < function.input_size(); ++k) {
            const bool given = k < call.input_size() && !call.input(k).empty();
            names[function.input(k)] = given ? valueOf(call.input(k), outer) : kAbsent;
        }
        for (int k = 0; k < function.output_size(); ++k) {
            if (k < call.output_size() && !call.output(k).empty()) {
                names[function.output(k)] = valueOf(call.output(k), outer);
            }
        }
        for (const auto& node : function.node()) {
            for (const std::string& name : node.output()) {
                if (!name.empty() && !names.count(name)) {
                    names[name] = m_graph.addValue(call.name() + "/" + name);
                }
            }
        }
        addNodes(function.node(), names, &call, depth + 1);
    }

    void addBranches(const onnx::NodeProto& proto, const Names& outer, const onnx::NodeProto* call,
                     int depth) {
        Node select;
        select.op = "Select";
        select.domain = "mpm.internal";
        select.name = proto.name();
        if (proto.input_size() != 1) throw Refusal("an If without a condition: the file is damaged");
        select.inputs.push_back(valueOf(proto.input(0), outer));
        for (const char* branch : {"then_branch", "else_branch"}) {
            const onnx::GraphProto* body = nullptr;
            for (const auto& attribute : proto.attribute()) {
                if (attribute.name() == branch) body = &attribute.g();
            }
            if (!body || body->output_size() < proto.output_size())
                throw Refusal("an If lacks its " + std::string(branch));
            Names names = outer;
            addInitializers(*body, names);
            for (const auto& node : body->node()) {
                for (const std::string& name : node.output()) {
                    if (!name.empty()) names[name] = m_graph.addValue(name);
                }
            }
            addNodes(body->node(), names, call, depth + 1);
            for (int k = 0; k < proto.output_size(); ++k) {
                select.inputs.push_back(valueOf(body->output(k).name(), names));
            }
        }
        for (const std::string& name : proto.output())
            select.outputs.push_back(valueOf(name, outer));
        m_graph.nodes.push_back(std::move(select));
    }

    std::shared_ptr<const onnx::ModelProto> m_model;
    std::string m_folder;
    std::map<std::string, const onnx::FunctionProto*> m_functions;
    Graph m_graph;
};

Graph parse(google::protobuf::io::ZeroCopyInputStream& stream, const std::string& folder) {
    auto model = std::make_shared<onnx::ModelProto>();
    google::protobuf::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(INT_MAX);
    coded.SetRecursionLimit(64);
    if (!model->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage() || !model->has_graph()) {
        throw Refusal("not an ONNX model, or a damaged or truncated one");
    }
    return Builder(std::move(model), folder).build();
}

}  // namespace

Graph readModel(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error || !std::filesystem::is_regular_file(path))
        throw Refusal("'" + path + "' is not a file that can be read");
    if (size == 0) throw Refusal("'" + path + "' is empty");
    if (size >= INT_MAX) {
        throw Refusal("'" + path + "' is larger than 2 GiB: keep its weights in an external data file");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Refusal("'" + path + "' cannot be opened for reading");
    google::protobuf::io::IstreamInputStream stream(&file);
    std::string folder = std::filesystem::path(path).parent_path().string();
    return parse(stream, folder.empty() ? "." : folder);
}

Graph readModel(const void* bytes, size_t size, const std::string& folder) {
    if (size >= INT_MAX) throw Refusal("the model is larger than 2 GiB");
    google::protobuf::io::ArrayInputStream stream(bytes, static_cast<int>(size));
    return parse(stream, folder);
}

}  // namespace mpm::models

#include "models/onnx/io/read.hpp"

#include <unistd.h>

#include <climits>
#include <map>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "models/onnx/io/external_data.hpp"
#include "models/onnx/io/read_tensor.hpp"
#include "models/onnx/io/zero_rows.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

constexpr int kDeepest = 16;             // levels of nested functions and branches
constexpr int64_t kMostNodes = 250000;   // after inlining; a ViT-g has 5,000
constexpr int64_t kMostNames = 4000000;  // names that are looked up for nodes, calls and attributes

std::string quoted(const std::string& name) {
    return "'" + printable(name, 200) + "'";
}

// The values of a graph by name. In a branch, find() also searches the graph around the branch.
class Names {
public:
    explicit Names(const Names* outer = nullptr) : m_outer(outer) {}

    bool count(const std::string& name) const { return m_values.count(name) != 0; }
    int& operator[](const std::string& name) { return m_values[name]; }
    bool add(const std::string& name, int value) { return m_values.emplace(name, value).second; }
    const int* find(const std::string& name) const {
        const auto found = m_values.find(name);
        if (found != m_values.end()) return &found->second;
        return m_outer ? m_outer->find(name) : nullptr;
    }

private:
    const Names* m_outer;
    std::map<std::string, int> m_values;
};

class Builder {
public:
    Builder(std::shared_ptr<const onnx::ModelProto> model, std::string path, std::shared_ptr<Held> held)
        : m_model(std::move(model)), m_path(std::move(path)) {
        m_graph.held = std::move(held);
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
            m_graph.outputs.push_back(portOf(info));
            m_graph.outputs.back().value = valueOf(info.name(), names);
        }
        if (m_graph.outputs.empty()) throw Refusal("the model has no outputs: not an ONNX model, or damaged");
        m_graph.sort();
        expandOptimised(m_graph);
        addZeroRows(m_graph);
        resolveSequences(m_graph);
        m_graph.prune();
        return std::move(m_graph);
    }

private:
    void readOpset() {
        for (const auto& set : m_model->opset_import()) {
            if (set.domain().empty() || set.domain() == "ai.onnx")
                m_graph.opset = static_cast<int>(set.version());
            if (set.domain() == "mpm" && set.version() > kLatestDomainVersion) {
                throw Refusal("version " + std::to_string(set.version()) +
                              " of the domain mpm is not supported: this program reads versions 1 to " +
                              std::to_string(kLatestDomainVersion) + "; use a later one");
            }
        }
        if (m_graph.opset < 7 || m_graph.opset > 1000) {
            throw Refusal("opset " + std::to_string(m_graph.opset) +
                          " of the standard operators is not supported: " + "export with opset 11 or later");
        }
    }

    void addInitializers(const onnx::GraphProto& proto, Names& names) {
        if (proto.sparse_initializer_size() != 0) throw Refusal("sparse initializers are not supported");
        for (const auto& tensor : proto.initializer()) {
            countNames(1);
            const int value = names[tensor.name()] = addValue(tensor.name());
            m_graph.values[value].constant = readTensor(tensor, m_model, m_path);
        }
    }

    static Port portOf(const onnx::ValueInfoProto& info) {
        Port port;
        port.name = info.name();
        if (info.has_type() && !info.type().has_tensor_type()) {
            throw Refusal(quoted(info.name()) + " is not a tensor: inputs and outputs must be tensors");
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
        m_graph.inputs.push_back(portOf(info));
        m_graph.inputs.back().value = names[info.name()] = addValue(info.name());
    }

    template <typename Nodes>
    void declareOutputs(const Nodes& nodes, Names& names) {
        for (const auto& node : nodes) {
            for (const std::string& name : node.output()) {
                if (name.empty()) continue;
                if (!names.add(name, addValue(name)))
                    throw Refusal("value " + quoted(name) + " is produced twice: the file is damaged");
            }
        }
    }

    int valueOf(const std::string& name, const Names& names) const {
        if (name.empty()) return kAbsent;
        const int* found = names.find(name);
        if (!found)
            throw Refusal("value " + quoted(name) + " is used but nothing produces it: the file is damaged");
        return *found;
    }

    // Limits the number of nodes, because functions that call functions can expand a small file greatly.
    void count(const onnx::NodeProto& node) {
        countNames(int64_t{1} + node.input_size() + node.output_size() + node.attribute_size());
        if (++m_visited <= kMostNodes) return;
        throw BudgetError("the graph has more than " + std::to_string(kMostNodes) +
                          " nodes once its functions are inlined (budget: nodes)");
    }

    void countNames(int64_t names) {
        m_names += names;
        if (m_names > kMostNames)
            throw BudgetError("the nodes of the graph name more than " + std::to_string(kMostNames) +
                              " values and attributes once its functions are inlined (budget: values)");
        checkTime();
    }

    // Charges memory for the name, and for the entry of the value in each list of values.
    int addValue(const std::string& name) {
        m_graph.held->add(static_cast<int64_t>(2 * name.size() + 400), "the graph");
        return m_graph.addValue(name);
    }

    template <typename Nodes>
    void addNodes(const Nodes& nodes, const Names& names, const onnx::NodeProto* call, int depth) {
        if (depth > kDeepest) throw Refusal("functions or branches are nested too deeply");
        for (const auto& node : nodes) {
            count(node);
            const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
            const auto function = m_functions.find(domain + ":" + node.op_type());
            if (function != m_functions.end() && domain != "mpm") {
                inlineFunction(resolved(node, *function->second, call), *function->second, names, depth);
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
        m_graph.held->add(static_cast<int64_t>(node.name.size() + node.op.size() + 400), "the graph");
        m_graph.nodes.push_back(std::move(node));
    }

    // If `proto` refers to an attribute of `call`, returns this attribute; else returns `proto`. Returns null
    // if `call` lacks the attribute: the default of the operator then applies.
    const onnx::AttributeProto* given(const onnx::AttributeProto& proto, const onnx::NodeProto* call) {
        if (proto.ref_attr_name().empty()) return &proto;
        const onnx::AttributeProto* found = nullptr;
        countNames(call ? call->attribute_size() : 0);
        for (int k = 0; call && k < call->attribute_size(); ++k) {
            if (call->attribute(k).name() == proto.ref_attr_name()) found = &call->attribute(k);
        }
        return found;
    }

    const onnx::NodeProto& defaultsOf(const onnx::FunctionProto& function) {
        const auto [found, unread] = m_defaults.try_emplace(&function);
        if (unread) readDefaults(function, found->second, *m_graph.held);
        return found->second;
    }

    // Returns a copy of `node`, which calls `function`. The copy has the default attributes of the function,
    // then the attributes of `node`. If two attributes have the same name, the last is used. References to
    // attributes of the outer call are resolved.
    onnx::NodeProto resolved(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                             const onnx::NodeProto* call) {
        const onnx::NodeProto& defaults = defaultsOf(function);
        countNames(defaults.attribute_size());
        const Held held(
            checkedProduct<int64_t>(2, checkedSum<int64_t>(node.ByteSizeLong(), defaults.ByteSizeLong())),
            "a call of a function");
        onnx::NodeProto copy = node;
        *copy.mutable_attribute() = defaults.attribute();
        for (const auto& attribute : node.attribute()) {
            const onnx::AttributeProto* source = given(attribute, call);
            if (!source) continue;
            *copy.add_attribute() = *source;
            copy.mutable_attribute(copy.attribute_size() - 1)->set_name(attribute.name());
        }
        return copy;
    }

    void addAttribute(const onnx::AttributeProto& proto, Node& node, const onnx::NodeProto* call) {
        const onnx::AttributeProto* source = given(proto, call);
        if (!source) return;
        Attribute attribute;
        m_graph.held->add(checkedSum<int64_t>(source->ByteSizeLong(), proto.name().size(), 400), "the graph");
        // Attributes of a call are in the copy made by resolved(), not in the model, so their data is copied.
        const auto owner = source == &proto ? m_model : nullptr;
        if (readAttribute(*source, owner, m_path, attribute))
            node.attributes[proto.name()] = std::move(attribute);
    }

    void addConstantNode(const onnx::NodeProto& proto, const Names& names, const onnx::NodeProto* call) {
        if (proto.output_size() != 1) throw Refusal("a Constant node without an output: the file is damaged");
        Node node;
        for (const auto& attribute : proto.attribute())
            addAttribute(attribute, node, call);
        const int value = valueOf(proto.output(0), names);
        for (const auto& [key, a] : node.attributes) {
            Tensor tensor;
            const List<float> floats = a.as<List<float>>();
            if (key == "value") tensor = a.as<Tensor>();
            if (key == "value_float") tensor = Tensor::scalar(a.as<float>());
            if (key == "value_floats") tensor = Tensor::floats({static_cast<int64_t>(floats.size())}, floats);
            if (key == "value_int") tensor = Tensor::ints({}, a.as<int64_t>());
            if (key == "value_ints") tensor = Tensor::vector(a.as<List<int64_t>>());
            if (tensor.known()) m_graph.values[value].constant = tensor;
        }
        if (!m_graph.values[value].constant.known()) {
            throw Refusal("Constant " + quoted(proto.output(0)) +
                          " holds a kind of value that is not supported");
        }
    }

    void inlineFunction(const onnx::NodeProto& call, const onnx::FunctionProto& function, const Names& outer,
                        int depth) {
        Names names;
        countNames(int64_t{function.input_size()} + function.output_size() + function.node_size());
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
                    names[name] = addValue(call.name() + "/" + name);
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
            Names names(&outer);
            addInitializers(*body, names);
            for (const auto& node : body->node()) {
                for (const std::string& name : node.output()) {
                    if (!name.empty()) names[name] = addValue(name);
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
    std::string m_path;
    std::map<std::string, const onnx::FunctionProto*> m_functions;
    std::map<const onnx::FunctionProto*, onnx::NodeProto> m_defaults;
    int64_t m_visited = 0, m_names = 0;
    Graph m_graph;
};

// `held` charges the memory of the message as long as the graph exists.
Graph parse(google::protobuf::io::ZeroCopyInputStream& stream, const std::string& path,
            std::shared_ptr<Held> held) {
    auto model = std::make_shared<onnx::ModelProto>();
    google::protobuf::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(INT_MAX);
    coded.SetRecursionLimit(kDeepestMessage);
    if (!model->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage() || !model->has_graph()) {
        throw Refusal("not an ONNX model, or a damaged or truncated one");
    }
    checkTime();
    return Builder(std::move(model), path, std::move(held)).build();
}

Graph read(const std::string& path, bool own) {
    const InputFile file(path);
    if (file.size() == 0) throw Refusal(quoted(path) + " is empty");
    if (file.size() >= INT_MAX) {
        throw Refusal(quoted(path) + " is larger than 2 GiB: keep its weights in an external data file");
    }
    if (!own) file.allow();
    google::protobuf::io::FileInputStream counted(file.descriptor());
    auto held = std::make_shared<Held>(bytesOfModel(counted), "the model");
    if (lseek(file.descriptor(), 0, SEEK_SET) != 0) throw Refusal(quoted(path) + " cannot be read");
    google::protobuf::io::FileInputStream stream(file.descriptor());
    return parse(stream, path, std::move(held));
}

}  // namespace

Graph readModel(const std::string& path) {
    return read(path, false);
}

Graph readOwnModel(const std::string& path) {
    return read(path, true);
}

Graph readModel(const void* bytes, size_t size, const std::string& path) {
    if (size >= INT_MAX) throw Refusal("the model is larger than 2 GiB");
    google::protobuf::io::ArrayInputStream counted(bytes, static_cast<int>(size));
    auto held = std::make_shared<Held>(bytesOfModel(counted), "the model");
    google::protobuf::io::ArrayInputStream stream(bytes, static_cast<int>(size));
    return parse(stream, path, std::move(held));
}

}  // namespace mpm::models

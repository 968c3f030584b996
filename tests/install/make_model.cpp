// make_model OUT.onnx: the smallest whole model there is to run from outside: a picture of 32x32, patches of
// 8x8, an MpmEncoder of three blocks, a linear head. Random weights; the metadata `mpm::modelInfo` reads.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace {

constexpr int kDim = 16, kPatch = 8, kGrid = 4, kBlocks = 3, kClasses = 3;

void addTensor(onnx::GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims,
               float deviation, float mean = 0) {
    static std::mt19937 random(7);
    std::normal_distribution<float> normal(mean, deviation);
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    int64_t total = 1;
    for (int64_t dim : dims) {
        tensor.add_dims(dim);
        total *= dim;
    }
    for (int64_t i = 0; i < total; i++) {
        tensor.add_float_data(deviation > 0 ? normal(random) : mean);
    }
}

onnx::NodeProto& addNode(onnx::GraphProto& graph, const std::string& op,
                         const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(output);
    for (const std::string& input : inputs) {
        node.add_input(input);
    }
    node.add_output(output);
    return node;
}

onnx::AttributeProto& addAttribute(onnx::NodeProto& node, const std::string& name,
                                   onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
}

void addInt(onnx::NodeProto& node, const std::string& name, int64_t value) {
    addAttribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void addInts(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
    onnx::AttributeProto& attribute = addAttribute(node, name, onnx::AttributeProto::INTS);
    for (int64_t value : values) {
        attribute.add_ints(value);
    }
}

void addPort(onnx::ValueInfoProto& port, const std::string& name, const std::vector<int64_t>& dims) {
    port.set_name(name);
    auto& type = *port.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims) {
        type.mutable_shape()->add_dim()->set_dim_value(dim);
    }
}

void addEmbedding(onnx::GraphProto& graph) {
    addTensor(graph, "embed.weight", {kDim, 3, kPatch, kPatch}, 0.2f);
    addTensor(graph, "embed.bias", {kDim}, 0.1f);
    onnx::NodeProto& conv = addNode(graph, "Conv", {"picture", "embed.weight", "embed.bias"}, "patches");
    addInts(conv, "kernel_shape", {kPatch, kPatch});
    addInts(conv, "strides", {kPatch, kPatch});

    onnx::TensorProto& shape = *graph.add_initializer();
    shape.set_name("shape");
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(3);
    for (int64_t dim : {1, kDim, kGrid * kGrid}) {
        shape.add_int64_data(dim);
    }
    addNode(graph, "Reshape", {"patches", "shape"}, "columns");
    addInts(addNode(graph, "Transpose", {"columns"}, "tokens"), "perm", {0, 2, 1});
}

void addEncoder(onnx::GraphProto& graph) {
    std::string names = "tokens";
    std::vector<std::string> inputs = {"tokens"};
    const auto weight = [&](const std::string& name, const std::vector<int64_t>& dims, float deviation,
                            float mean = 0) {
        addTensor(graph, name, dims, deviation, mean);
        inputs.push_back(name);
        names += " " + name;
    };
    for (int block = 0; block < kBlocks; block++) {
        const std::string b = std::to_string(block) + ".";
        weight(b + "norm1.weight", {kDim}, 0.1f, 1);
        weight(b + "norm1.bias", {kDim}, 0.1f);
        weight(b + "qkv.weight", {kDim, 3 * kDim}, 0.25f);
        weight(b + "qkv.bias", {3 * kDim}, 0.1f);
        weight(b + "proj.weight", {kDim, kDim}, 0.25f);
        weight(b + "norm2.weight", {kDim}, 0.1f, 1);
        weight(b + "norm2.bias", {kDim}, 0.1f);
        weight(b + "fc1.weight", {kDim, 2 * kDim}, 0.25f);
        weight(b + "fc1.bias", {2 * kDim}, 0.1f);
        weight(b + "fc2.weight", {2 * kDim, kDim}, 0.2f);
    }
    onnx::NodeProto& encoder = addNode(graph, "MpmEncoder", inputs, "features");
    encoder.set_domain("mpm");
    addAttribute(encoder, "inputs", onnx::AttributeProto::STRING).set_s(names);
    addInt(encoder, "blocks", kBlocks);
    addInt(encoder, "heads", 2);
    addInt(encoder, "special_tokens", 0);
}

onnx::ModelProto makeModel() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.set_producer_name("make_model");
    model.add_opset_import()->set_version(13);
    onnx::OperatorSetIdProto& own = *model.add_opset_import();
    own.set_domain("mpm");
    own.set_version(1);
    onnx::StringStringEntryProto& size = *model.add_metadata_props();
    size.set_key("mpm.size");
    size.set_value("[32, 32]");

    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name("tiny");
    addPort(*graph.add_input(), "picture", {1, 3, kGrid * kPatch, kGrid * kPatch});
    addEmbedding(graph);
    addEncoder(graph);
    addTensor(graph, "head.weight", {kDim, kClasses}, 0.3f);
    addNode(graph, "MatMul", {"features", "head.weight"}, "logits");
    addPort(*graph.add_output(), "logits", {1, kGrid * kGrid, kClasses});
    return model;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "make_model: one argument wanted, the file to write\n";
        return EXIT_FAILURE;
    }
    std::ofstream file(argv[1], std::ios::binary);
    return makeModel().SerializeToOstream(&file) && file.flush() ? EXIT_SUCCESS : EXIT_FAILURE;
}

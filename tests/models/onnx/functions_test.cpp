// Tests that the reader inlines the functions of a model file, with the attributes of each call.
#include <fstream>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "models/onnx/io/read.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;

/// Returns a node whose attribute `alpha` refers to the attribute `from` of the function's call.
onnx::NodeProto nodeOf(const std::string& op, const std::string& input, const std::string& from) {
    onnx::NodeProto node;
    node.set_op_type(op);
    node.add_input(input);
    node.add_output("y");
    auto& attribute = *node.add_attribute();
    attribute.set_name("alpha");
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_ref_attr_name(from);
    return node;
}

void setPort(onnx::ValueInfoProto& port, const std::string& name) {
    port.set_name(name);
    port.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    port.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
}

/// Returns a model with two functions: `outer` has the attribute `slope` and calls `inner`, which has the
/// attribute `alpha` and is a LeakyRelu.
onnx::ModelProto modelOf(const std::string& given) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    setPort(*model.mutable_graph()->add_input(), "x");
    setPort(*model.mutable_graph()->add_output(), "y");
    for (const bool outer : {true, false}) {
        onnx::FunctionProto& function = *model.add_functions();
        function.set_name(outer ? "outer" : "inner");
        function.set_domain("local");
        function.add_input("x");
        function.add_output("y");
        function.add_attribute(outer ? "slope" : "alpha");
        onnx::NodeProto& node = *function.add_node();
        node = outer ? nodeOf("inner", "x", "slope") : nodeOf("LeakyRelu", "x", "alpha");
        if (outer) node.set_domain("local");
    }
    onnx::NodeProto& call = *model.mutable_graph()->add_node();
    call = nodeOf("outer", "x", "");
    call.set_domain("local");
    call.mutable_attribute(0)->set_name(given);
    call.mutable_attribute(0)->set_f(0.25f);
    return model;
}

TEST(Functions, PassAttributesOn) {
    for (const std::string given : {"slope", "other"}) {
        const test::TempFolder folder;
        std::ofstream(folder / "model.onnx", std::ios::binary) << modelOf(given).SerializeAsString();
        const models::Graph graph = models::readModel(folder / "model.onnx");
        ASSERT_EQ(graph.nodes.size(), 1u);
        EXPECT_EQ(graph.nodes.begin()->op, "LeakyRelu");
        EXPECT_EQ(graph.nodes.begin()->getFloat("alpha", 0.01f), given == "slope" ? 0.25f : 0.01f)
            << "without it, the operator's default counts";
    }
}

// Adds the field `attribute_proto` as bytes, because the classes of ONNX 1.12 have no member for it.
void declare(onnx::FunctionProto& function, const std::string& name, float value) {
    onnx::AttributeProto attribute;
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
    const std::string own = attribute.SerializeAsString();
    function.clear_attribute();
    const std::string all = function.SerializeAsString() + "\x5a" + static_cast<char>(own.size()) + own;
    ASSERT_TRUE(function.ParseFromString(all));
}

TEST(Functions, HaveDefaultsOfTheirAttributes) {
    for (const bool outer : {true, false}) {
        for (const std::string given : {"slope", "other"}) {
            onnx::ModelProto model = modelOf(given);
            declare(*model.mutable_functions(outer ? 0 : 1), outer ? "slope" : "alpha", 0.5f);
            const std::string bytes = model.SerializeAsString();
            const models::Graph graph = models::readModel(bytes.data(), bytes.size());
            ASSERT_EQ(graph.nodes.size(), 1u);
            EXPECT_EQ(graph.nodes.begin()->getFloat("alpha", 0.01f), given == "slope" ? 0.25f : 0.5f);
        }
    }
}

TEST(Functions, TakeTensorsOfTheirCalls) {
    const std::vector<float> values = {1, 2, 3, 4};
    onnx::ModelProto model = modelOf("");
    model.clear_functions();
    onnx::FunctionProto& function = *model.add_functions();
    function.set_name("add");
    function.set_domain("local");
    function.add_input("x");
    function.add_output("y");
    function.add_attribute("addend");
    onnx::NodeProto& constant = *function.add_node();
    constant = nodeOf("Constant", "", "addend");
    constant.clear_input();
    constant.set_output(0, "c");
    constant.mutable_attribute(0)->set_name("value");
    constant.mutable_attribute(0)->set_type(onnx::AttributeProto::TENSOR);
    onnx::NodeProto& sum = *function.add_node();
    sum = nodeOf("Add", "x", "");
    sum.clear_attribute();
    sum.add_input("c");
    onnx::NodeProto& call = *model.mutable_graph()->mutable_node(0);
    call.set_op_type("add");
    call.mutable_attribute(0)->set_name("addend");
    call.mutable_attribute(0)->set_type(onnx::AttributeProto::TENSOR);
    onnx::TensorProto& addend = *call.mutable_attribute(0)->mutable_t();
    addend.set_data_type(onnx::TensorProto::FLOAT);
    addend.add_dims(static_cast<int>(values.size()));
    addend.set_raw_data(values.data(), values.size() * sizeof(float));
    const std::string bytes = model.SerializeAsString();
    const models::Graph graph = models::readModel(bytes.data(), bytes.size());
    ASSERT_EQ(graph.nodes.size(), 1u);
    const models::Tensor& read = graph.values[graph.nodes.begin()->inputs.at(1)].constant;
    ASSERT_EQ(read.size(), 4);
    for (int k = 0; k < 4; ++k)
        EXPECT_EQ(read.f()[k], values[k]);
}

}  // namespace

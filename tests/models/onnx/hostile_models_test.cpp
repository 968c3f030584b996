// Harmful models: the conversion of each must end with a Refusal or a BudgetError, soon and with little
// memory.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "models/onnx/convert.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/ir/job.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
namespace fs = std::filesystem;
using onnx::TensorProto;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

onnx::NodeProto& addNode(onnx::NodeProto& node, const std::string& op, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
    node.set_op_type(op);
    for (const std::string& name : inputs)
        node.add_input(name);
    for (const std::string& name : outputs)
        node.add_output(name);
    return node;
}

void setPort(onnx::ValueInfoProto& port, const std::string& name, const std::vector<int64_t>& dims) {
    port.set_name(name);
    auto* type = port.mutable_type()->mutable_tensor_type();
    type->set_elem_type(TensorProto::FLOAT);
    for (int64_t extent : dims)
        type->mutable_shape()->add_dim()->set_dim_value(extent);
}

/// Returns a model with the input "image" and the output "y", without nodes.
onnx::ModelProto emptyModel() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    setPort(*model.mutable_graph()->add_input(), "image", {1, 3, 32, 32});
    setPort(*model.mutable_graph()->add_output(), "y", {1});
    return model;
}

void addInts(onnx::ModelProto& model, const std::string& name, const std::vector<int64_t>& values) {
    TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (int64_t value : values)
        tensor.add_int64_data(value);
}

void addFloats(onnx::ModelProto& model, const std::string& name, const std::vector<float>& values) {
    TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (float value : values)
        tensor.add_float_data(value);
}

/// Expects that `model` is rejected because it exceeds a budget, and that the message names the option. If
/// no budget ended the conversion, the time limit would end it with another message.
void expectBudget(const onnx::ModelProto& model, const std::string& word, int64_t memory = 64 << 20) {
    const test::TempFolder folder;
    std::ofstream(folder / "in.onnx", std::ios::binary) << model.SerializeAsString();
    models::ConvertOptions options;
    options.maxMemory = memory;
    options.maxSeconds = 300;
    try {
        models::convertModel(folder / "in.onnx", folder / "out.onnx", options);
        ADD_FAILURE() << "was converted";
    } catch (const BudgetError& error) {
        EXPECT_NE(error.err.find(word), std::string::npos) << error.err;
    } catch (const models::Refusal& refusal) {
        ADD_FAILURE() << refusal.what();
    }
}

/// Returns a model with nested functions: each calls the function of the next level ten times.
onnx::ModelProto nested(int levels, bool leafHasNodes) {
    onnx::ModelProto model = emptyModel();
    for (int level = 0; level < levels; ++level) {
        onnx::FunctionProto& function = *model.add_functions();
        function.set_name("f" + std::to_string(level));
        function.set_domain("local");
        function.add_input("x");
        function.add_output("y");
        const bool leaf = level + 1 == levels;
        for (int k = 0; k < 10 && (!leaf || leafHasNodes); ++k) {
            const std::string from = k == 0 ? "x" : "v" + std::to_string(k - 1),
                              to = k == 9 ? "y" : "v" + std::to_string(k);
            auto& node =
                addNode(*function.add_node(), leaf ? "Relu" : "f" + std::to_string(level + 1), {from}, {to});
            if (!leaf) node.set_domain("local");
        }
    }
    addNode(*model.mutable_graph()->add_node(), "f0", {"image"}, {"y"}).set_domain("local");
    return model;
}

TEST(HostileModels, NestedFunctionsAreCounted) {
    expectBudget(nested(9, true), "nodes", 1 << 30);
    expectBudget(nested(14, false), "nodes", 1 << 30);  // the innermost functions are empty
}

using Make = std::function<void(onnx::ModelProto&)>;

// Returns operators whose result "big" is much larger than their inputs.
std::vector<std::pair<const char*, Make>> expandingOperators() {
    const auto node = [](onnx::ModelProto& model, const std::string& op,
                         const std::vector<std::string>& inputs) -> onnx::NodeProto& {
        return addNode(*model.mutable_graph()->add_node(), op, inputs, {"big"});
    };
    return {
        {"Expand",
         [node](auto& m) {
             addInts(m, "s", {1 << 14, 1 << 14});
             node(m, "Expand", {"one", "s"});
         }},
        {"Tile",
         [node](auto& m) {
             addInts(m, "s", {1 << 28});
             node(m, "Tile", {"one", "s"});
         }},
        {"ConstantOfShape",
         [node](auto& m) {
             addInts(m, "s", {1 << 28});
             node(m, "ConstantOfShape", {"s"});
         }},
        {"Pad",
         [node](auto& m) {
             addInts(m, "s", {0, 1 << 28});
             node(m, "Pad", {"one", "s"});
         }},
        {"Resize",
         [node](auto& m) {
             addInts(m, "s", {1 << 28});
             node(m, "Resize", {"one", "", "", "s"});
         }},
        {"Gather",
         [node](auto& m) {
             addInts(m, "s", {1 << 12, 1 << 12});
             addInts(m, "zero", {0});
             addNode(*m.mutable_graph()->add_node(), "Expand", {"zero", "s"}, {"index"});
             node(m, "Gather", {"one", "index"});
         }},
        {"Add",
         [node](auto& m) {
             addInts(m, "a", {1 << 12, 1});
             addInts(m, "b", {1, 1 << 13});
             addNode(*m.mutable_graph()->add_node(), "Expand", {"one", "a"}, {"column"});
             addNode(*m.mutable_graph()->add_node(), "Expand", {"one", "b"}, {"row"});
             node(m, "Add", {"column", "row"});
         }},
        {"MatMul",
         [node](auto& m) {
             addInts(m, "a", {1 << 12, 1});
             addInts(m, "b", {1, 1 << 13});
             addNode(*m.mutable_graph()->add_node(), "Expand", {"one", "a"}, {"column"});
             addNode(*m.mutable_graph()->add_node(), "Expand", {"one", "b"}, {"row"});
             node(m, "MatMul", {"column", "row"});
         }},
    };
}

TEST(HostileModels, OperatorsMayNotMakeMuchOfLittle) {
    for (const auto& [name, make] : expandingOperators()) {
        SCOPED_TRACE(name);
        onnx::ModelProto model = emptyModel();
        addFloats(model, "one", {1});
        make(model);
        addNode(*model.mutable_graph()->add_node(), "ReduceMax", {"big"}, {"y"});
        expectBudget(model, "--max-memory");
    }
}

TEST(HostileModels, ManyReferencesToOneLargeFunctionAreCounted) {
    onnx::ModelProto model = emptyModel();
    onnx::FunctionProto& function = *model.add_functions();
    function.set_name("wide");
    function.set_domain("local");
    for (int k = 0; k < 3000; ++k)
        function.add_input("i" + std::to_string(k));
    for (int k = 0; k < 3000; ++k)
        addNode(*model.mutable_graph()->add_node(), "wide", {"image"}, {"v" + std::to_string(k)})
            .set_domain("local");
    expectBudget(model, "values");
}

TEST(HostileModels, TinyMessagesAreCountedBeforeTheyAreObjects) {
    // A million empty nodes need only two bytes each in the file, but 200 MB as objects.
    std::string graph;
    for (int k = 0; k < 1000000; ++k)
        graph += std::string("\x0a\x00", 2);
    onnx::ModelProto model = emptyModel();
    const std::string rest = model.graph().SerializeAsString();
    graph += rest;
    std::string bytes = "\x3a";
    for (size_t length = graph.size(); length > 0; length >>= 7)
        bytes += static_cast<char>((length & 127) | (length > 127 ? 128 : 0));
    bytes += graph;
    const models::Job job({64 << 20, 5});
    EXPECT_THROW(models::readModel(bytes.data(), bytes.size()), BudgetError);
}

TEST(HostileModels, MessagesAreShortAndSafe) {
    onnx::ModelProto model = emptyModel();
    addNode(*model.mutable_graph()->add_node(), "\x1b]0;op\x07" + std::string(1 << 20, 'x'), {"image"}, {"y"})
        .set_domain("\x1b[31m" + std::string(1 << 20, 'd'));
    const std::string bytes = model.SerializeAsString();
    const models::Inspection found = models::inspectModel(bytes.data(), bytes.size());
    EXPECT_FALSE(found.convertible);
    EXPECT_LT(found.reason.size(), 1000U);
    EXPECT_EQ(found.reason.find('\x1b'), std::string::npos);
    model.mutable_graph()->mutable_node(0)->set_input(0, "\n\x1b" + std::string(1 << 20, 'v'));
    const std::string lost = model.SerializeAsString();
    try {
        models::inspectModel(lost.data(), lost.size());
        ADD_FAILURE() << "was accepted";
    } catch (const models::Refusal& refusal) {
        EXPECT_LT(std::string(refusal.what()).size(), 1000U);
        EXPECT_EQ(std::string(refusal.what()).find_first_of("\n\x1b"), std::string::npos);
    }
}

/// Evaluates an operator into `result`. Returns the message if the operator rejects the inputs, else "".
std::string run(const std::string& op, const std::vector<models::Tensor>& inputs,
                const std::map<std::string, models::Attribute>& attributes, models::Tensor& result) {
    models::Graph graph;
    graph.opset = 17;
    models::Node node;
    node.op = op;
    node.attributes = attributes;
    node.outputs = {graph.addValue("y")};
    try {
        result = models::evaluateNode(graph, node, inputs)[0];
        return {};
    } catch (const models::Refusal& refusal) {
        return refusal.what();
    }
}

TEST(HostileModels, IntegersWrapAndNeverTrap) {
    using models::Tensor;
    const Tensor smallest = Tensor::vector({kSmallest}), minusOne = Tensor::vector({-1}),
                 zero = Tensor::vector({0});
    Tensor y;
    EXPECT_EQ(run("Div", {smallest, minusOne}, {}, y), "");
    EXPECT_EQ(y.i()[0], kSmallest);
    EXPECT_EQ(run("Mod", {smallest, minusOne}, {}, y), "");
    EXPECT_EQ(y.i()[0], 0);
    EXPECT_NE(run("Div", {smallest, zero}, {}, y), "");
    EXPECT_NE(run("Mod", {smallest, zero}, {}, y), "");
    EXPECT_EQ(run("Sub", {smallest, Tensor::vector({1})}, {}, y), "");
    EXPECT_EQ(y.i()[0], kLargest);
    EXPECT_EQ(run("Pow", {Tensor::vector({10}), Tensor::vector({30})}, {}, y), "");
    EXPECT_EQ(y.i()[0], kLargest);
    EXPECT_EQ(run("Cast", {Tensor::scalar(1e30f)}, {{"to", models::Attribute::of(int64_t{7})}}, y), "");
    EXPECT_EQ(y.i()[0], kLargest);
}

TEST(HostileModels, StepsPadsAndTypesOutOfRangeAreRejected) {
    using models::Attribute;
    using models::Tensor;
    const Tensor x = Tensor::floats({4, 4}, 1.f);
    const auto one = [](int64_t value) { return Tensor::vector({value}); };
    Tensor y;
    EXPECT_NE(run("Slice", {x, one(0), one(4), one(0), one(kSmallest)}, {}, y), "");
    EXPECT_EQ(run("Slice", {x, one(0), one(4), one(0), one(int64_t{1} << 40)}, {}, y), "");
    EXPECT_EQ(y.shape(), (models::Shape{1, 4}));
    EXPECT_NE(run("Pad", {x, Tensor::vector({kSmallest, 0, kLargest, 0})}, {}, y), "");
    EXPECT_NE(run("DepthToSpace", {Tensor::floats({1, 4, 1, 1}, 1.f)},
                  {{"blocksize", Attribute::of(int64_t{1} << 33)}}, y),
              "");
    EXPECT_NE(run("Concat", {one(1), Tensor::floats({1}, 1.f)}, {{"axis", Attribute::of(int64_t{0})}}, y),
              "");
    EXPECT_NE(run("Where", {x, x, x}, {}, y), "");
    EXPECT_NE(run("Gather", {x, Tensor::floats({1}, 0.f)}, {}, y), "");
    EXPECT_NE(run("MaxPool", {Tensor::floats({1, 1, 2, 2}, 1.f)},
                  {{"kernel_shape", Attribute::of(std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40})},
                   {"pads", Attribute::of(std::vector<int64_t>(4, int64_t{1} << 40))}},
                  y),
              "");
    EXPECT_NE(run("Concat", {}, {}, y), "");
}

/// A model in a folder; the model's only tensor is in another file (external data).
class ExternalData : public testing::Test {
protected:
    void SetUp() override {
        fs::create_directories(folder / "model");
        fs::create_directories(folder / "else");
        std::ofstream(folder / "else/secret", std::ios::binary) << std::string(16, 'S');
        std::ofstream(folder / "model/weights", std::ios::binary) << std::string(16, 'W');
    }

    void writeModel(const std::string& location, const std::string& offset = "0") const {
        onnx::ModelProto model = emptyModel();
        TensorProto& tensor = *model.mutable_graph()->add_initializer();
        tensor.set_name("w");
        tensor.set_data_type(TensorProto::FLOAT);
        tensor.add_dims(4);
        tensor.set_data_location(TensorProto::EXTERNAL);
        for (const auto& [key, value] :
             {std::pair<std::string, std::string>{"location", location}, {"offset", offset}}) {
            auto* entry = tensor.add_external_data();
            entry->set_key(key);
            entry->set_value(value);
        }
        addNode(*model.mutable_graph()->add_node(), "Add", {"image", "w"}, {"y"});
        std::ofstream(folder / "model/in.onnx", std::ios::binary) << model.SerializeAsString();
    }

    std::string refusalOf(const std::string& path) const {
        try {
            const models::Graph graph = models::readModel(path);
            return {};
        } catch (const models::Refusal& refusal) {
            return refusal.what();
        }
    }
    std::string refusal(const std::string& location, const std::string& offset = "0") const {
        writeModel(location, offset);
        return refusalOf(folder / "model/in.onnx");
    }

    test::TempFolder folder;
};

TEST_F(ExternalData, StaysInTheFolderOfTheModel) {
    EXPECT_EQ(refusal("weights"), "");
    EXPECT_EQ(refusal("./weights"), "");
    fs::create_symlink("weights", folder / "model/inside");
    EXPECT_EQ(refusal("inside"), "");
    EXPECT_NE(refusal("../else/secret"), "");
    EXPECT_NE(refusal(folder / "else/secret"), "");
    EXPECT_NE(refusal(""), "");
    EXPECT_NE(refusal("."), "");
    EXPECT_NE(refusal("missing"), "");
    fs::create_symlink(folder / "else/secret", folder / "model/file");
    EXPECT_NE(refusal("file").find("leads out"), std::string::npos);
    fs::create_directory_symlink(folder / "else", folder / "model/sub");
    EXPECT_NE(refusal("sub/secret").find("leads out"), std::string::npos);
    fs::create_symlink("file", folder / "model/twice");
    EXPECT_NE(refusal("twice").find("leads out"), std::string::npos);
    fs::create_directories(folder / "model2");
    std::ofstream(folder / "model2/w", std::ios::binary) << std::string(16, 'S');
    fs::create_directory_symlink(folder / "model2", folder / "model/next");
    EXPECT_NE(refusal("next/w").find("leads out"), std::string::npos);  // "model2" begins like "model"
}

TEST_F(ExternalData, MayLieInTheStoreThatTheModelIsALinkTo) {
    writeModel("weights");
    fs::create_directories(folder / "cache");
    fs::create_symlink(folder / "model/in.onnx", folder / "cache/in.onnx");
    fs::create_symlink(folder / "model/weights", folder / "cache/weights");
    EXPECT_EQ(refusalOf(folder / "cache/in.onnx"), "");
    fs::remove(folder / "cache/weights");
    fs::create_symlink(folder / "else/secret", folder / "cache/weights");
    EXPECT_NE(refusalOf(folder / "cache/in.onnx").find("leads out"), std::string::npos);
}

TEST_F(ExternalData, PipesDevicesAndFoldersAreNoData) {
    ASSERT_EQ(mkfifo((folder / "model/pipe").c_str(), 0600), 0);
    EXPECT_NE(refusal("pipe"), "");  // a plain open would wait for a writer for ever
    fs::create_directories(folder / "model/folder");
    EXPECT_NE(refusal("folder"), "");
    ASSERT_EQ(mkfifo((folder / "model/pipe.onnx").c_str(), 0600), 0);
    EXPECT_NE(refusalOf(folder / "model/pipe.onnx"), "");
    EXPECT_NE(refusalOf("/dev/zero"), "");
}

TEST_F(ExternalData, OffsetsAreChecked) {
    for (const char* offset :
         {"1", "17", "9223372036854775807", "18446744073709551615", "-4", "0x0", "999999999999999999"})
        EXPECT_NE(refusal("weights", offset), "") << offset;
}

}  // namespace

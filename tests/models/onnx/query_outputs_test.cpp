// Tests models whose outputs are masks and classes of queries: labels, and the choice of outputs and inputs.
#include <algorithm>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "small_export.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;
using models::ConvertOptions;

class QueryOutputs : public testing::Test {
protected:
    static cv::Mat run(const std::string& path, const std::string& output) {
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        net.setInput(SmallExport::image(1));
        return net.forward(output).clone();
    }

    TempFolder folder;
};

// A model with queries before the image tokens. Masks are products of the rows of queries and patches.
struct QueryModel {
    static constexpr int kQueries = 4, kClasses = 3;
    SmallExport model{1};
    int masks = 0, classes = 0;

    QueryModel() {
        int x = model.embed();
        for (int k = 0; k < 4; ++k)
            x = model.block(x);
        x = model.joined({model.queries(kQueries), x});
        for (int k = 0; k < 3; ++k)
            x = model.block(x);
        x = model.norm(x);
        const int queries = model.rows(x, 0, kQueries), image = model.rows(x, kQueries + 1, INT32_MAX);
        models::GraphBuilder& g = model.builder();
        const int turned = g.node("Transpose", {image});
        g.with("perm", models::Attribute::of(models::List<int64_t>{0, 2, 1}));
        const int product = g.node("MatMul", {queries, turned});
        masks =
            g.node("Reshape", {product, g.ints({1, kQueries, SmallExport::kRows, SmallExport::kColumns})});
        g.output(masks, "masks", {1, kQueries, SmallExport::kRows, SmallExport::kColumns});
        classes = model.linear(queries, SmallExport::kDim, kClasses + 1);
        g.output(classes, "classes", {1, kQueries, kClasses + 1});
    }

    void addScores(const models::Shape& size, bool sigmoidFirst) {
        models::GraphBuilder& g = model.builder();
        const auto resized = [&](int x, int64_t channels) {
            const int y = g.node(
                "Resize", {x, models::kAbsent, models::kAbsent, g.ints({1, channels, size[2], size[3]})});
            g.with("mode", models::Attribute::of(std::string("linear")));
            return y;
        };
        const int inside = g.node("Sigmoid", {sigmoidFirst ? masks : resized(masks, kQueries)});
        const int shares = g.node("Softmax", {classes});
        const int real = g.node("Slice", {shares, g.ints({0}), g.ints({kClasses}), g.ints({2})});
        int scores = g.node("Einsum", {inside, real});
        g.with("equation", models::Attribute::of(std::string("bqhw,bqc->bchw")));
        if (sigmoidFirst) scores = resized(scores, kClasses);
        g.output(scores, "scores", size);
    }
};

TEST_F(QueryOutputs, LabelsComeFromMasksAndClasses) {
    QueryModel queries;
    const std::string in = folder / "queries.onnx", plain = folder / "plain.onnx",
                      out = folder / "labels.onnx";
    models::writeModel(queries.model.graph(), in);
    ConvertOptions options;
    models::convertModel(in, plain, options);
    options.labels = true;
    EXPECT_LT(models::convertModel(in, out, options).error, 1e-5);
    EXPECT_EQ(modelInfo(out).labels.size(), static_cast<size_t>(QueryModel::kClasses));
    const models::Graph graph = models::readModel(out);
    EXPECT_EQ(graph.outputs[0].name, "masks");
    EXPECT_EQ(graph.outputs[0].dims, (models::Shape{1, 1, SmallExport::kRows * SmallExport::kPatch,
                                                    SmallExport::kColumns * SmallExport::kPatch}));
    cv::Mat labels;
    labels = run(out, "masks");
    EXPECT_EQ(labels.size[1], 1);
    EXPECT_EQ(labels.size[2], SmallExport::kRows * SmallExport::kPatch);
    options.classes = {"one", "two"};
    options.allClasses = true;
    EXPECT_THROW(models::convertModel(in, out, options), cv::Exception);
    options.labels = false;
    options.classes.push_back("three");
    EXPECT_THROW(models::convertModel(in, out, options), cv::Exception);
}

// The export computes scores for every pixel. The converted model computes labels without these scores.
TEST_F(QueryOutputs, LabelsReplaceScoresOfPixels) {
    const models::Shape size{1, QueryModel::kClasses, SmallExport::kRows * SmallExport::kPatch,
                             SmallExport::kColumns * SmallExport::kPatch};
    for (const bool sigmoidFirst : {false, true}) {
        QueryModel queries;
        const std::string in = folder / "scores.onnx", out = folder / "labels.onnx";
        queries.addScores(size, sigmoidFirst);
        models::writeModel(queries.model.graph(), in);
        ConvertOptions options;
        options.labels = true;
        options.outputs = {"scores"};
        EXPECT_LT(models::convertModel(in, out, options).error, 1e-5);
        const models::Graph graph = models::readModel(out);
        const auto labels = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                         [](const Node& node) { return node.op == "MpmMaskLabels"; });
        ASSERT_NE(labels, graph.nodes.end());
        EXPECT_EQ(labels->getInt("sigmoid_first", 0), sigmoidFirst);
        EXPECT_EQ(graph.outputs[0].dims, (models::Shape{1, 1, size[2], size[3]}));
        EXPECT_EQ(run(out, "scores").total(), static_cast<size_t>(size[2] * size[3]));
    }
}

TEST_F(QueryOutputs, OutputsAndInputsAreChosen) {
    QueryModel queries;
    const std::string in = folder / "queries.onnx", out = folder / "out.onnx";
    models::Graph graph = queries.model.graph();
    models::Port factor;
    factor.name = "factor";
    factor.value = graph.addValue("factor");
    factor.hasShape = true;
    graph.inputs.push_back(factor);
    const int scaled = graph.addValue("scaled");
    Node node;
    node.op = "Mul";
    node.inputs = {graph.outputs[1].value, factor.value};
    node.outputs = {scaled};
    graph.nodes.push_back(node);
    graph.outputs[1].value = scaled;
    models::writeModel(graph, in);
    ConvertOptions options;
    EXPECT_THROW(models::convertModel(in, out, options), models::Refusal);  // the graph has two inputs
    options.set = {{"factor", "2.5"}};
    options.outputs = {"classes"};
    models::convertModel(in, out, options);
    const models::Graph found = models::readModel(out);
    ASSERT_EQ(found.outputs.size(), 1u);
    EXPECT_EQ(found.outputs[0].name, "classes");
    EXPECT_EQ(found.inputs.size(), 1u);
    for (const char* value : {"", "two", "2,5", "true", "inf"}) {
        options.set = {{"factor", value}};
        EXPECT_THROW(models::convertModel(in, out, options), cv::Exception) << value;
    }
    options.set = {{"factor", "1"}, {"image", "1"}};
    EXPECT_THROW(models::convertModel(in, out, options), cv::Exception);
    options.set = {{"factor", "1"}};
    options.outputs = {"scores"};
    EXPECT_THROW(models::convertModel(in, out, options), cv::Exception);
}

}  // namespace

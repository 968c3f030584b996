// Encoders that come in several groups of blocks: which of them become segments of one chain, and their
// results.
#include <functional>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/io/domain_version.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "small_export.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using models::ConvertOptions;
using models::Node;
using test::SmallExport;

// Between the groups of blocks: the next group's input from the last one's output.
using Between = std::function<int(SmallExport&, int x)>;

struct Case {
    std::vector<int> groups;  ///< blocks of each
    Between between;
    int batch = 1;
};

class Chains : public testing::Test {
protected:
    std::string write(const Case& c, const std::string& name) {
        SmallExport model(c.batch);
        int x = model.embed();
        for (size_t k = 0; k < c.groups.size(); ++k) {
            if (k > 0) x = c.between(model, x);
            for (int block = 0; block < c.groups[k]; ++block)
                x = model.block(x);
        }
        model.finish(x);
        const std::string path = folder / (name + ".onnx");
        models::writeModel(model.graph(), path);
        return path;
    }

    std::string converted(const Case& c, const ConvertOptions& options = {}) {
        const std::string path = folder / ("converted" + std::to_string(++files) + ".onnx");
        models::convertModel(write(c, "export"), path, options);
        return path;
    }

    static std::vector<Node> encodersIn(const std::string& path) {
        std::vector<Node> found;
        for (const Node& node : models::readModel(path).nodes)
            if (node.op == "MpmEncoder") found.push_back(node);
        return found;
    }

    static Report run(const std::string& path, const std::vector<int>& schedule, cv::Mat& output,
                      const std::string& name = "tokens") {
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        encoder(net).setSchedule(schedule);
        net.setInput(SmallExport::image(models::readModel(path).inputs[0].dims[0] == 2 ? 2 : 1));
        output = net.forward(name).clone();
        return encoder(net).report();
    }

    test::TempFolder folder;
    int files = 0;
};

int zeros(SmallExport& model, int x) {
    return model.builder().node(
        "Add", {x, model.builder().node("Mul", {model.features(), model.builder().number(0)})});
}

TEST_F(Chains, NothingAddedEqualsOneEncoder) {
    for (const int batch : {1, 2}) {
        cv::Mat whole, cut;
        const Report expected = run(converted({{7}, {}, batch}), {2, 5}, whole);
        for (const std::vector<int>& groups :
             std::vector<std::vector<int>>{{2, 5}, {3, 4}, {5, 2}, {1, 1, 5}, {1, 1, 1, 1, 1, 1, 1}}) {
            const std::string path = converted({groups, zeros, batch});
            ASSERT_EQ(encodersIn(path).size(), groups.size());
            EXPECT_EQ(models::domainVersion(models::readModel(path)), 2);
            const Report found = run(path, {2, 5}, cut);
            EXPECT_EQ(cv::norm(whole, cut, cv::NORM_INF), 0);
            for (size_t b = 0; b < found.images.size(); ++b) {
                EXPECT_EQ(found.images[b].tokens, expected.images[b].tokens);
                EXPECT_EQ(cv::norm(found.images[b].map, expected.images[b].map, cv::NORM_INF), 0);
            }
        }
    }
}

TEST_F(Chains, FileHasOneChainWithOneMap) {
    const std::vector<Node> nodes = encodersIn(converted({{3, 4}, zeros}));
    ASSERT_EQ(nodes.size(), 2u);
    int first = 0;
    for (const Node& node : nodes) {
        EXPECT_EQ(node.getString("role", ""), "backbone");
        EXPECT_EQ(node.getString("chain", ""), "backbone");
        EXPECT_EQ(node.getInt("chain_blocks", 0), 7);
        EXPECT_EQ(node.getInt("first_block", -1), first);
        first += static_cast<int>(node.getInt("blocks", 0));
    }
    EXPECT_EQ(nodes[0].getInt("map_output", 0), 1);
    EXPECT_EQ(nodes[0].getInts("schedule"), models::List<int64_t>{2});
    EXPECT_EQ(nodes[1].getInts("schedule"), models::List<int64_t>{5});
    EXPECT_EQ(nodes[1].input(1), nodes[0].outputs.back());
    EXPECT_EQ(nodes[1].getInt("map_output", 0), 0);
}

int withQueries(SmallExport& model, int x) {
    return model.joined({model.queries(4), x});
}

TEST_F(Chains, QueriesInFrontAreSpecialTokens) {
    const std::string path = converted({{4, 3}, withQueries});
    const std::vector<Node> nodes = encodersIn(path);
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].getInt("special_tokens", -1), 1);
    EXPECT_EQ(nodes[1].getInt("special_tokens", -1), 5);
    EXPECT_FALSE(nodes[1].has("trailing_tokens"));
    cv::Mat output;
    const Report report = run(path, {2, 5}, output);
    ASSERT_EQ(report.images[0].tokens.size(), 7u);
    EXPECT_EQ(report.images[0].tokens[4], report.images[0].tokens[3]);
    EXPECT_LT(report.images[0].tokens[5], report.images[0].tokens[4]);
    const models::Inspection inspection = models::inspectModel(path);
    EXPECT_EQ(inspection.found.blocks, 7);
    EXPECT_EQ(inspection.found.segments, 2);
    EXPECT_EQ(inspection.found.otherTokens, (std::vector<int>{1, 1, 1, 1, 5, 5, 5}));
    EXPECT_EQ(inspection.found.schedule, (std::vector<int>{2, 5}));
}

TEST_F(Chains, TokensBehindAreTrailing) {
    const Between behind = [](SmallExport& model, int x) { return model.joined({x, model.queries(4)}); };
    const std::vector<Node> nodes = encodersIn(converted({{4, 3}, behind}));
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[1].getInt("special_tokens", -1), 1);
    EXPECT_EQ(nodes[1].getInt("trailing_tokens", -1), 4);
}

TEST_F(Chains, ScheduleOfAConvertedChainIsReplaced) {
    ConvertOptions options;
    options.blocks = std::vector<int>{1, 4, 6};
    const std::string first = converted({{4, 3}, withQueries}), second = folder / "second.onnx";
    models::convertModel(first, second, options);
    EXPECT_EQ(modelInfo(second).schedule, *options.blocks);
    const std::vector<Node> nodes = encodersIn(second);
    EXPECT_EQ(nodes[0].getInts("schedule"), models::List<int64_t>{1});
    EXPECT_EQ(nodes[1].getInts("schedule"), (models::List<int64_t>{4, 6}));
}

// Rows in another order, scaled rows and two readers are no chain: what follows decodes all tokens.
TEST_F(Chains, OtherTokensAreDecoded) {
    const Between scaled = [](SmallExport& model, int x) {
        return model.builder().node("Mul", {x, model.builder().number(2)});
    };
    const Between turned = [](SmallExport& model, int x) { return model.reversed(x); };
    for (const Between& between : {scaled, turned}) {
        const std::vector<Node> nodes = encodersIn(converted({{4, 3}, between}));
        ASSERT_EQ(nodes.size(), 2u);
        EXPECT_EQ(nodes[1].getString("role", ""), "decoder");
        EXPECT_EQ(nodes[0].getInt("map_output", 0), 0);
    }
}

TEST_F(Chains, ChangesItsSize) {
    ConvertOptions options;
    options.size = {80, 64};
    const Between replaced = [](SmallExport& model, int x) {
        return model.joined({model.queries(1), model.withoutFirst(x)});
    };
    for (const Between& between : {Between(withQueries), replaced}) {
        const std::string path = converted({{4, 3}, between}, options);
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        const int shape[] = {1, 3, 64, 80};
        net.setInput(cv::Mat(4, shape, CV_32F, cv::Scalar(0.5)));
        net.forward();
        EXPECT_EQ(encoder(net).report().images[0].tokens[0], 80);
    }
}

// Queries in front, whose masks are products of theirs and the patches' rows.
struct QueryModel {
    static constexpr int kQueries = 4, kClasses = 3;
    SmallExport model{1};

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
        const int masks =
            g.node("Reshape", {product, g.ints({1, kQueries, SmallExport::kRows, SmallExport::kColumns})});
        g.output(masks, "masks", {1, kQueries, SmallExport::kRows, SmallExport::kColumns});
        g.output(model.linear(queries, SmallExport::kDim, kClasses + 1), "classes",
                 {1, kQueries, kClasses + 1});
    }
};

TEST_F(Chains, LabelsComeFromMasksAndClasses) {
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
    run(out, {2, 5}, labels, "masks");
    EXPECT_EQ(labels.size[1], 1);
    EXPECT_EQ(labels.size[2], SmallExport::kRows * SmallExport::kPatch);
    options.classes = {"one", "two"};
    options.allClasses = true;
    EXPECT_THROW(models::convertModel(in, out, options), cv::Exception);
    options.labels = false;
    options.classes.push_back("three");
    EXPECT_THROW(models::convertModel(in, out, options), cv::Exception);
}

TEST_F(Chains, DecoderFollowsTheMap) {
    const Between projected = [](SmallExport& model, int x) {
        const int y = model.linear(model.norm(x), SmallExport::kDim, SmallExport::kDim);
        return model.joined({model.withoutFirst(y), model.queries(3)});
    };
    ConvertOptions options;
    cv::Mat full, merged;
    run(converted({{5, 2}, projected}, options), {}, full);
    options.decoder = models::Decoder::Merged;
    const std::string path = converted({{5, 2}, projected}, options);
    const std::vector<Node> nodes = encodersIn(path);
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[1].getString("role", ""), "decoder");
    EXPECT_EQ(nodes[1].getInt("special_tokens", -1), 0);
    EXPECT_EQ(nodes[1].getInt("trailing_tokens", -1), 3);
    EXPECT_EQ(nodes[1].input(1), nodes[0].outputs.back());
    run(path, {}, merged);
    EXPECT_EQ(cv::norm(full, merged, cv::NORM_INF), 0);
    EXPECT_EQ(run(path, {2}, merged).images[0].tokens.size(), 5u);
    EXPECT_TRUE(cv::checkRange(merged));
    EXPECT_GT(cv::norm(full, merged, cv::NORM_INF), 0);
}

// A decoder whose rows mix tokens computes all of them.
TEST_F(Chains, DecoderOfMixedTokensIsFull) {
    const Between mixed = [](SmallExport& model, int x) {
        const int y = model.builder().node("Add", {x, model.reversed(x)});
        return model.linear(y, SmallExport::kDim, SmallExport::kDim);
    };
    ConvertOptions options;
    options.decoder = models::Decoder::Merged;
    const std::vector<Node> nodes = encodersIn(converted({{5, 2}, mixed}, options));
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].getInt("map_output", 0), 0);
    EXPECT_EQ(nodes[1].input(1) == nodes[0].outputs.back(), false);
}

TEST_F(Chains, TokensBehindFromTheStart) {
    SmallExport model(1);
    int x = model.joined({model.embed(), model.queries(3)});
    for (int k = 0; k < 4; ++k)
        x = model.block(x);
    model.finish(x);
    const std::string in = folder / "behind.onnx", out = folder / "converted.onnx";
    models::writeModel(model.graph(), in);
    models::convertModel(in, out, {});
    const std::vector<Node> nodes = encodersIn(out);
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].getInt("special_tokens", -1), 1);
    EXPECT_EQ(nodes[0].getInt("trailing_tokens", -1), 3);
    cv::Mat output;
    EXPECT_EQ(run(out, {2}, output).images[0].map.total(), 48u);
}

// Blocks that MpmEncoder does not have are named as such.
TEST_F(Chains, ReasonsNameTheBlocks) {
    const auto reasonFor = [&](const std::function<int(SmallExport&, int x)>& block) -> std::string {
        SmallExport model(1);
        int x = model.embed();
        for (int k = 0; k < 3; ++k)
            x = block(model, x);
        model.finish(x);
        const std::string in = folder / "odd.onnx";
        models::writeModel(model.graph(), in);
        try {
            models::convertModel(in, folder / "out.onnx", {});
        } catch (const models::Refusal& refusal) {
            return refusal.what();
        }
        return "converted";
    };
    const std::string parallel = reasonFor([](SmallExport& m, int x) {
        const int y = m.norm(x);
        const int middle = m.builder().node("Add", {x, m.attention(y)});
        return m.builder().node("Add", {middle, m.mlp(y)});
    });
    EXPECT_NE(parallel.find("parallel blocks"), std::string::npos) << parallel;
    const std::string rms = reasonFor([](SmallExport& m, int x) {
        const int middle = m.builder().node("Add", {x, m.attention(m.rmsNorm(x))});
        return m.builder().node("Add", {middle, m.mlp(m.rmsNorm(middle))});
    });
    EXPECT_NE(rms.find("RMSNorm"), std::string::npos) << rms;
}

TEST_F(Chains, OutputsAndInputsAreChosen) {
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
    EXPECT_THROW(models::convertModel(in, out, options), models::Refusal);  // two inputs
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

TEST_F(Chains, DamagedChainIsRejected) {
    models::Graph graph = models::readModel(converted({{4, 3}, withQueries}));
    for (Node& node : graph.nodes)
        if (node.op == "MpmEncoder") node.attributes["chain_blocks"] = models::Attribute::of(int64_t{9});
    const std::string path = folder / "damaged.onnx";
    models::writeModel(graph, path);
    EXPECT_THROW(models::convertModel(path, folder / "again.onnx", {}), models::Refusal);
}

}  // namespace

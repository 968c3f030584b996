// Models with several groups of blocks: tests which groups become segments of a chain, and the results.
#include <functional>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "small_export.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;
using models::ConvertOptions;

// A function that computes the input of a group of blocks from the output of the previous group.
using Between = std::function<int(SmallExport&, int x)>;

struct Case {
    std::vector<int> groups;  ///< number of blocks of each group
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

    /// Returns options that merge mutual pairs before blocks 2 and 5, if the model has these blocks.
    static ConvertOptions paper() {
        ConvertOptions options;
        options.method = "mpm";
        return options;
    }

    std::string converted(const Case& c, const ConvertOptions& options = paper()) {
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

    static Report run(const std::string& path, const std::vector<int>& schedule, cv::Mat& output) {
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        encoder(net).setSchedule(schedule);
        net.setInput(SmallExport::image(models::readModel(path).inputs[0].dims[0] == 2 ? 2 : 1));
        output = net.forward().clone();
        return encoder(net).report();
    }

    TempFolder folder;
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

// If rows are scaled or reordered between two groups of blocks, the groups do not form a chain. The second
// group becomes a decoder, which gets all tokens.
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

// Converts a converted model again, with decoder=merged. The decoder must take the map, as if the export had
// been converted with this option.
TEST_F(Chains, DecoderOfAConvertedModelFollowsTheMap) {
    const Between projected = [](SmallExport& model, int x) {
        const int y = model.linear(model.norm(x), SmallExport::kDim, SmallExport::kDim);
        return model.joined({model.withoutFirst(y), model.queries(3)});
    };
    for (const int batch : {1, 2}) {
        ConvertOptions options = paper();
        const std::string plain = converted({{5, 2}, projected, batch}, options),
                          again = folder / "again.onnx";
        options.decoder = models::Decoder::Merged;
        cv::Mat expected, found;
        run(converted({{5, 2}, projected, batch}, options), {2}, expected);
        const models::Conversion conversion = models::convertModel(plain, again, options);
        EXPECT_EQ(conversion.decoder, "2 transformer blocks on merged tokens");
        EXPECT_LT(conversion.gflopsMerged, conversion.gflops);
        EXPECT_GT(conversion.gflopsMerged, 0);
        EXPECT_EQ(models::domainVersion(models::readModel(again)), 2);
        run(again, {2}, found);
        EXPECT_EQ(cv::norm(expected, found, cv::NORM_INF), 0);
        models::convertModel(again, folder / "third.onnx", options);  // changes nothing
        options.decoder = models::Decoder::Full;
        EXPECT_THROW(models::convertModel(again, folder / "full.onnx", options), models::Refusal);
        options.decoder.reset();
        models::convertModel(again, folder / "kept.onnx", options);
        EXPECT_EQ(encodersIn(folder / "kept.onnx")[1].getInt("trailing_tokens", 0), 3);
    }
}

// If a decoder's rows are mixtures of tokens, the decoder must compute all tokens.
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

TEST_F(Chains, DamagedChainIsRejected) {
    models::Graph graph = models::readModel(converted({{4, 3}, withQueries}));
    for (Node& node : graph.nodes)
        if (node.op == "MpmEncoder") node.attributes["chain_blocks"] = models::Attribute::of(int64_t{9});
    const std::string path = folder / "damaged.onnx";
    models::writeModel(graph, path);
    EXPECT_THROW(models::convertModel(path, folder / "again.onnx", {}), models::Refusal);
}

}  // namespace

// Tests guarantees of the converter other than numeric results: labels, schedules, converted models as input,
// damaged files, atomic output.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/match/match.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
namespace fs = std::filesystem;

class ConverterContract : public testing::Test {
protected:
    void SetUp() override {
        if (!test::fileExists(base + ".onnx")) GTEST_SKIP() << base << ".onnx is not here";
        folder = fs::temp_directory_path() / testing::UnitTest::GetInstance()->current_test_info()->name();
        fs::remove_all(folder);
        fs::create_directories(folder);
    }
    void TearDown() override { fs::remove_all(folder); }

    std::string in(const std::string& name) const { return (folder / name).string(); }
    cv::Mat run(const std::string& path) const {
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        net.setInput(test::readNpy(base + ".input.npy").mat());
        return net.forward().clone();
    }

    const std::string base = mpm::test::sharedDir() + "/fixtures/segmenter_mask";
    fs::path folder;
};

TEST_F(ConverterContract, LabelsAreTheArgmaxOfTheScores) {
    models::ConvertOptions options;
    options.labels = true;
    options.method = "mpm";
    models::convertModel(base + ".onnx", in("labels.onnx"), options);
    const cv::Mat labels = run(in("labels.onnx"));
    const cv::Mat scores = test::readNpy(base + ".s2_5.output.npy").mat();
    ASSERT_EQ(labels.dims, 4);
    EXPECT_EQ(labels.size[1], 1);
    const int classes = scores.size[1], pixels = scores.size[2] * scores.size[3];
    ASSERT_EQ(labels.total(), static_cast<size_t>(pixels));
    int different = 0;
    for (int p = 0; p < pixels; ++p) {
        int best = 0;
        for (int c = 1; c < classes; ++c) {
            if (scores.ptr<float>()[c * pixels + p] > scores.ptr<float>()[best * pixels + p]) best = c;
        }
        const int found = labels.depth() == CV_32F
                              ? static_cast<int>(labels.ptr<float>()[p])
                              : static_cast<int>(reinterpret_cast<const int64_t*>(labels.data)[p]);
        different += found != best;
    }
    EXPECT_LE(different, pixels / 1000);  // rounding may decide between two nearly equal classes
    const models::Graph graph = models::readModel(in("labels.onnx"));
    EXPECT_EQ(graph.outputs[0].name, models::readModel(base + ".onnx").outputs[0].name);
}

TEST_F(ConverterContract, AcceptsItsOwnOutputWithAnotherSchedule) {
    models::convertModel(base + ".onnx", in("first.onnx"), {});
    models::ConvertOptions options;
    options.blocks = std::vector<int>{3, 6, 9};
    models::convertModel(in("first.onnx"), in("second.onnx"), options);
    EXPECT_EQ(modelInfo(in("second.onnx")).schedule, (std::vector<int>{3, 6, 9}));
    EXPECT_EQ(modelInfo(in("second.onnx")).sourceSha256, modelInfo(in("first.onnx")).sourceSha256);
    const cv::Mat expected = test::readNpy(base + ".s3_6_9.output.npy").mat();
    const cv::Mat found = run(in("second.onnx"));
    EXPECT_LT(cv::norm(found.reshape(1, 1), expected.reshape(1, 1), cv::NORM_INF),
              1e-4 * cv::norm(expected.reshape(1, 1), cv::NORM_INF));
    models::convertModel(in("second.onnx"), in("third.onnx"), {});  // without options, nothing changes
    EXPECT_EQ(modelInfo(in("third.onnx")).schedule, (std::vector<int>{3, 6, 9}));
    EXPECT_TRUE(models::inspectModel(in("third.onnx")).converted);
}

/// Returns the number of Conv nodes, and whether MpmEmbed multiplies patches (attribute `patch`).
std::pair<int, bool> projectionOf(const std::string& path) {
    std::pair<int, bool> found{0, false};
    for (const models::Node& node : models::readModel(path).nodes) {
        found.first += node.op == "Conv" ? 1 : 0;
        found.second |= node.op == "MpmEmbed" && node.has("patch");
    }
    return found;
}

TEST_F(ConverterContract, EmbeddingMultipliesWholePatches) {
    models::convertModel(base + ".onnx", in("out.onnx"), {});
    EXPECT_EQ(projectionOf(in("out.onnx")), std::make_pair(0, true));
}

TEST_F(ConverterContract, PaddedPatchesStayAConvolution) {
    for (const std::vector<int64_t>& pads : {std::vector<int64_t>{0, 0, 1, 1}, {1, 1, 0, 0}}) {
        models::Graph graph = models::readModel(base + ".onnx");
        for (models::Node& node : graph.nodes) {
            if (node.is("Conv")) node.attributes["pads"] = models::Attribute::of(pads);
        }
        models::writeModel(graph, in("changed.onnx"));
        models::convertModel(in("changed.onnx"), in("out.onnx"), {});
        EXPECT_EQ(projectionOf(in("out.onnx")), std::make_pair(1, false));
    }
}

// Files of earlier versions multiply the patches in a Conv. If such a file is converted again, MpmEmbed
// multiplies the patches.
TEST_F(ConverterContract, ConvolutionIsTakenInWhenConvertedAgain) {
    models::convertModel(base + ".onnx", in("out.onnx"), {});
    models::Graph graph = models::readModel(in("out.onnx"));
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        if (graph.nodes[n].op != "MpmEmbed" || !graph.nodes[n].has("patch")) continue;
        const std::vector<int64_t> patch = graph.nodes[n].getInts("patch");
        const models::Shape matrix = graph.constant(graph.nodes[n].inputs[2]).shape();
        std::vector<float> weight(matrix[0] * matrix[1]);
        for (size_t k = 0; k < weight.size(); ++k)
            weight[k] = static_cast<float>(k * 7 % 101) * 1e-3f;
        models::Node conv;
        conv.op = "Conv";
        conv.name = "patches";
        conv.inputs = {
            graph.nodes[n].inputs[0],
            graph.addConstant(
                "w", models::Tensor::floats({matrix[1], matrix[0] / patch[0] / patch[1], patch[0], patch[1]},
                                            weight))};
        conv.outputs = {graph.addValue("patches_out")};
        conv.attributes["kernel_shape"] = conv.attributes["strides"] = models::Attribute::of(patch);
        graph.nodes[n].inputs.pop_back();
        graph.nodes[n].inputs[0] = conv.outputs[0];
        graph.nodes[n].attributes.erase("patch");
        graph.nodes.insert(graph.nodes.begin() + static_cast<int>(n), conv);
        break;
    }
    models::writeModel(graph, in("before.onnx"));
    ASSERT_EQ(projectionOf(in("before.onnx")), std::make_pair(1, false));
    models::convertModel(in("before.onnx"), in("after.onnx"), {});
    EXPECT_EQ(projectionOf(in("after.onnx")), std::make_pair(0, true));
    const cv::Mat expected = run(in("before.onnx")), found = run(in("after.onnx"));
    EXPECT_LT(cv::norm(found.reshape(1, 1), expected.reshape(1, 1), cv::NORM_INF),
              1e-4 * cv::norm(expected.reshape(1, 1), cv::NORM_INF));
}

TEST_F(ConverterContract, NoBlocksWriteNoSchedule) {
    models::ConvertOptions options;
    options.blocks = std::vector<int>{};
    models::convertModel(base + ".onnx", in("none.onnx"), options);
    const models::Graph graph = models::readModel(in("none.onnx"));
    for (const models::Node& node : graph.nodes)
        EXPECT_FALSE(node.has("schedule"));
    EXPECT_EQ(graph.metadata.at("mpm.schedule"), "[]");
    EXPECT_TRUE(models::mergingOf(graph).schedule.empty());
}

using Blocks = std::vector<int>;

models::ConvertOptions merging(const std::optional<std::string>& method,
                               const std::optional<Blocks>& blocks = {}) {
    models::ConvertOptions options;
    options.method = method, options.blocks = blocks;
    return options;
}

std::string bytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

const models::Node& encoderOf(const models::Graph& graph) {
    for (const models::Node& node : graph.nodes)
        if (node.op == "MpmEncoder") return node;
    CV_Error(cv::Error::StsError, "no encoder");
}

TEST_F(ConverterContract, MergesGentlyByDefault) {
    const models::Conversion found = models::convertModel(base + ".onnx", in("gentle.onnx"), {});
    EXPECT_TRUE(found.byDefault);
    EXPECT_EQ(found.method, "gentle");
    EXPECT_EQ(found.schedule, (std::vector<int>{1, 3, 5, 7, 9}));
    const models::Graph graph = models::readModel(in("gentle.onnx"));
    EXPECT_EQ(encoderOf(graph).getString("method", ""), "gentle");
    EXPECT_EQ(models::domainVersion(graph), 3);
    EXPECT_EQ(models::inspectModel(in("gentle.onnx")).found.method, "gentle");
    registerLayers();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(in("gentle.onnx"));
    EXPECT_EQ(encoder(net).method(), "gentle");
    EXPECT_EQ(encoder(net).schedule(), found.schedule);
    models::convertModel(in("gentle.onnx"), in("again.onnx"), {});  // without options, nothing changes
    EXPECT_EQ(bytesOf(in("again.onnx")), bytesOf(in("gentle.onnx")));
}

TEST_F(ConverterContract, PlainMutualPairsAreFilesAsBefore) {
    models::convertModel(base + ".onnx", in("blocks.onnx"), merging({}, Blocks{2, 5}));
    models::convertModel(base + ".onnx", in("gentle.onnx"), {});
    const std::string before = bytesOf(in("blocks.onnx"));
    const models::Graph graph = models::readModel(in("blocks.onnx"));
    EXPECT_FALSE(encoderOf(graph).has("method"));
    EXPECT_EQ(models::domainVersion(graph), 1);
    for (const char* method : {"mpm", "mpm:pairs=all,by=tokens,mean=plain,attention=plain"}) {
        models::convertModel(base + ".onnx", in("out.onnx"), merging(method));
        EXPECT_EQ(bytesOf(in("out.onnx")), before) << method;
    }
    models::convertModel(in("gentle.onnx"), in("out.onnx"), merging({}, Blocks{2, 5}));
    EXPECT_EQ(bytesOf(in("out.onnx")), before) << "blocks alone mean mutual pairs, of a gentle model too";
    models::convertModel(base + ".onnx", in("out.onnx"), merging("none"));
    models::convertModel(base + ".onnx", in("none.onnx"), merging({}, Blocks()));
    EXPECT_EQ(bytesOf(in("out.onnx")), bytesOf(in("none.onnx")));
}

TEST_F(ConverterContract, AMethodBringsItsBlocks) {
    const auto scheduleOf = [&](const std::string& method, const std::optional<Blocks>& blocks = {}) {
        return models::convertModel(base + ".onnx", in("out.onnx"), merging(method, blocks)).schedule;
    };
    EXPECT_EQ(scheduleOf("mpm:mean=weighted"), (std::vector<int>{2, 5}));
    EXPECT_EQ(scheduleOf("gentle", Blocks{4}), std::vector<int>{4});
    EXPECT_EQ(scheduleOf("tome:r=3").size(), 12u);
    EXPECT_EQ(scheduleOf("algm"), (std::vector<int>{0, 4}));
    for (const models::ConvertOptions& wrong :
         {merging("best"), merging("gentle:1+3"), merging("tome", Blocks{2}), merging("gentle", Blocks{12})})
        EXPECT_THROW(models::convertModel(base + ".onnx", in("out.onnx"), wrong), cv::Exception);
    models::ConvertOptions layers = merging("gentle");
    layers.form = models::Form::Layers;
    EXPECT_THROW(models::convertModel(base + ".onnx", in("out.onnx"), layers), cv::Exception);
    layers.method.reset();
    EXPECT_EQ(models::convertModel(base + ".onnx", in("out.onnx"), layers).schedule,
              (std::vector<int>{2, 5}));
}

TEST_F(ConverterContract, StoringAnotherMethodChangesAttributesOnly) {
    models::convertModel(base + ".onnx", in("paper.onnx"), merging("mpm"));
    models::convertModel(base + ".onnx", in("few.onnx"), merging("mpm:pairs=0.3", Blocks{1, 8}));
    fs::copy(in("paper.onnx"), in("stored.onnx"));
    models::storeMerging(in("stored.onnx"), {"mpm:pairs=0.3", {1, 8}});
    EXPECT_EQ(bytesOf(in("stored.onnx")), bytesOf(in("few.onnx")));
    models::storeMerging(in("stored.onnx"), {"mpm", {2, 5}});
    EXPECT_EQ(bytesOf(in("stored.onnx")), bytesOf(in("paper.onnx")));
    EXPECT_THROW(models::storeMerging(base + ".onnx", {"mpm", {2}}), std::exception);
}

TEST_F(ConverterContract, RefusesBlocksThatAreNotThere) {
    models::ConvertOptions options;
    for (const std::vector<int>& blocks : {std::vector<int>{2, 12}, {5, 2}, {2, 2}, {-1}}) {
        options.blocks = blocks;
        EXPECT_THROW(models::convertModel(base + ".onnx", in("out.onnx"), options), cv::Exception);
    }
    EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(ConverterContract, WritesTheMetadataOfTheContract) {
    models::ConvertOptions options;
    options.classes = {"road", "sky"};
    options.palette.emplace_back(1, 2, 3);
    options.palette.emplace_back(4, 5, 6);
    options.mean = cv::Scalar(0.1, 0.2, 0.3);
    models::convertModel(base + ".onnx", in("out.onnx"), options);
    const ModelInfo info = modelInfo(in("out.onnx"));
    EXPECT_EQ(info.labels, options.classes);
    ASSERT_EQ(info.palette.size(), 2u);
    EXPECT_EQ(info.palette[1], options.palette[1]);
    EXPECT_EQ(info.size, cv::Size(160, 128));
    EXPECT_DOUBLE_EQ(info.mean[2], 0.3);
    EXPECT_DOUBLE_EQ(info.std[0], 0.5);
    EXPECT_EQ(info.schedule, (std::vector<int>{1, 3, 5, 7, 9}));
    EXPECT_EQ(info.sourceSha256.size(), 64u);
}

TEST_F(ConverterContract, LayersFormIsProvedAndKeepsItsPorts) {
    models::ConvertOptions options;
    options.form = models::Form::Layers;
    EXPECT_LT(models::convertModel(base + ".onnx", in("layers.onnx"), options).error, 1e-5);
    const models::Graph original = models::readModel(base + ".onnx"),
                        layers = models::readModel(in("layers.onnx"));
    EXPECT_EQ(layers.outputs[0].name, original.outputs[0].name);
    EXPECT_EQ(layers.outputs[0].dims, original.outputs[0].dims);
    EXPECT_EQ(layers.opset, 18);
}

// Models without new operators keep version 1 of the domain, so earlier versions of the library read them.
TEST_F(ConverterContract, NewOperatorsAndOnlyTheyGiveTheDomainVersion2) {
    models::ConvertOptions options;
    options.method = "mpm";
    models::convertModel(base + ".onnx", in("fused.onnx"), options);
    models::Graph graph = models::readModel(in("fused.onnx"));
    EXPECT_EQ(models::domainVersion(graph), 1);
    for (models::Node& node : graph.nodes) {
        if (node.op == "MpmEncoder") node.attributes["trailing_tokens"] = models::Attribute::of(int64_t{2});
    }
    EXPECT_EQ(models::domainVersion(graph), 2);
    models::Node selection;
    selection.domain = "mpm";
    for (const char* op : {"MpmTopK", "MpmGatherRows"}) {
        models::Graph other = graph;
        selection.op = op;
        other.nodes.push_back(selection);
        EXPECT_EQ(models::domainVersion(other), 3) << op;
    }
    for (models::Node& node : graph.nodes) {
        if (node.op == "MpmEncoder")
            node.attributes["window"] = models::Attribute::of(models::List<int64_t>{2, 2});
    }
    EXPECT_EQ(models::domainVersion(graph), 3);
}

TEST_F(ConverterContract, AcceptsTheLayersFormToo) {
    models::ConvertOptions options;
    options.form = models::Form::Layers;
    options.blocks = std::vector<int>{3, 6, 9};
    models::convertModel(base + ".onnx", in("layers.onnx"), options);
    EXPECT_TRUE(models::inspectModel(in("layers.onnx")).converted);
    models::convertModel(in("layers.onnx"), in("fused.onnx"), {});
    EXPECT_EQ(modelInfo(in("fused.onnx")).schedule, (std::vector<int>{3, 6, 9}));
    const cv::Mat expected = test::readNpy(base + ".s3_6_9.output.npy").mat();
    const cv::Mat found = run(in("fused.onnx"));
    EXPECT_LT(cv::norm(found.reshape(1, 1), expected.reshape(1, 1), cv::NORM_INF),
              1e-4 * cv::norm(expected.reshape(1, 1), cv::NORM_INF));
}

TEST_F(ConverterContract, SurvivesDamagedFiles) {
    std::ifstream file(base + ".onnx", std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::mt19937 random(7);
    const auto tryOne = [&](const std::string& bytes) {
        try {
            models::readModel(bytes.data(), bytes.size());
        } catch (const models::Refusal& refusal) {
            EXPECT_EQ(std::string(refusal.what()).find('\n'), std::string::npos);
        }
    };
    for (int k = 0; k < 200; ++k)
        tryOne(whole.substr(0, random() % whole.size()));
    for (int k = 0; k < 200; ++k) {
        std::string bytes = whole.substr(0, 200000);
        for (int n = 0; n < 20; ++n)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        tryOne(bytes);
    }
    std::ofstream(in("cut.onnx"), std::ios::binary) << whole.substr(0, whole.size() / 2);
    EXPECT_THROW(models::convertModel(in("cut.onnx"), in("out.onnx"), {}), models::Refusal);
    std::ofstream(in("empty.onnx"), std::ios::binary);
    EXPECT_THROW(models::convertModel(in("empty.onnx"), in("out.onnx"), {}), models::Refusal);
    EXPECT_THROW(models::convertModel(in("missing.onnx"), in("out.onnx"), {}), models::Refusal);
    EXPECT_FALSE(fs::exists(in("out.onnx")));
    EXPECT_FALSE(fs::exists(in("out.onnx.part")));
}

/// Tests the examples of FIPS 180-4, and lengths at which the padding needs another block.
TEST(Digest, EqualsPublishedDigests) {
    const test::TempFolder folder;
    const std::pair<std::string, const char*> known[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {std::string(55, 'a'), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {std::string(56, 'a'), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {std::string(64, 'a'), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
    for (const auto& [bytes, digest] : known) {
        const std::string path = folder / "bytes";
        std::ofstream(path, std::ios::binary) << bytes;
        EXPECT_EQ(models::sha256OfFile(path), digest) << bytes.size() << " bytes";
    }
    EXPECT_THROW(models::sha256OfFile(folder / "absent"), models::Refusal);
}

}  // namespace

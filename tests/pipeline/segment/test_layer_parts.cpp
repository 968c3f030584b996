// Tests the time of each part of a model. Two questions decide the part of a layer: do the encoder's segments
// use the layer's output, and does the layer use the output of the segments?
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include <mpm/layers.hpp>
#include <mpm/read_net.hpp>

#include "pipeline/segment/layer_parts.hpp"
#include "support/onnx_model.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

using test::EncoderCase;
using test::OnnxModel;

using Names = std::vector<std::string>;

double sumOf(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

void addSum(OnnxModel& model, const std::string& a, const std::string& b, const std::string& sum) {
    model.node("MpmArithmetic", {a, b}, {sum}, "mpm");
    model.attribute("operation", std::string("add"));
}

test::EncoderOptions fourBlocks() {
    test::EncoderOptions o;
    o.blocks = 4, o.schedule = {1, 3}, o.imageTokens = 40;
    return o;
}

/// Returns a model like ViT-Adapter: two segments and a decoder. If `withSide`, "side" is added before each
/// segment and after the decoder. No segment uses "collected", which comes from the first segment.
OnnxModel adapterModel(bool withSide) {
    const EncoderCase whole = test::makeEncoder(fourBlocks());
    const std::vector<EncoderCase> segments = test::cutEncoder(whole, {2});
    test::EncoderOptions ofDecoder = fourBlocks();
    ofDecoder.blocks = 1, ofDecoder.schedule = {};
    const test::Dims dims = {1, 41, whole.options.dim()};
    OnnxModel model;
    model.input("tokens", dims);
    model.constant("c", cv::Mat(41, whole.options.dim(), CV_32F, cv::Scalar(0.1)), dims);
    if (withSide) addSum(model, "tokens", "c", "side");
    addSum(model, "tokens", "c", "patches");
    if (withSide) addSum(model, "patches", "side", "injected");
    test::addEncoder(model, segments[0], {withSide ? "injected" : "patches"}, {"x0", "map0"});
    addSum(model, "x0", "c", "collected");
    addSum(model, "x0", withSide ? "side" : "c", "between");
    test::addEncoder(model, segments[1], {"between", "map0"}, {"x1"});
    test::addEncoder(model, test::makeEncoder(ofDecoder), {"x1"}, {"decoded"});
    model.attribute("role", std::string("decoder"));
    addSum(model, "decoded", withSide ? "side" : "c", "last");
    addSum(model, "last", "collected", "output");
    model.output("output", dims);
    return model;
}

void addSelection(OnnxModel& model, const std::string& scores, int count, const std::string& rows,
                  const std::string& picked) {
    model.node("MpmTopK", {scores}, {picked + ".best", picked + ".places"}, "mpm");
    model.attribute("k", count);
    model.constant(picked + ".form", std::vector<long long>{1, count});
    model.node("Reshape", {picked + ".places", picked + ".form"}, {picked + ".index"});
    model.node("MpmGatherRows", {rows, picked + ".index"}, {picked}, "mpm");
}

/// Returns a model like a detector, which selects proposals. The decoder makes a second selection, of rows
/// that the first selection does not use.
OnnxModel detectorModel(bool withDecoder) {
    const EncoderCase encoder = test::makeEncoder(fourBlocks());
    const int dim = encoder.options.dim();
    const test::Dims dims = {1, 41, dim};
    OnnxModel model;
    model.input("tokens", dims);
    model.constant("c", cv::Mat(41, dim, CV_32F, cv::Scalar(0.1)), dims);
    addSum(model, "tokens", "c", "patches");
    test::addEncoder(model, encoder, {"patches"}, {"x"});
    addSum(model, "x", "c", "memory");
    addSelection(model, "memory", 5, "memory", withDecoder ? "picked" : "output");
    if (withDecoder) {
        model.constant("few", cv::Mat(5, dim, CV_32F, cv::Scalar(0.1)), {1, 5, dim});
        addSum(model, "x", "c", "values");
        addSum(model, "picked", "few", "decoded");
        addSelection(model, "decoded", 3, "values", "output");
    }
    model.output("output", {1, withDecoder ? 3 : 5, dim});
    return model;
}

class LayerPartsTest : public testing::Test {
protected:
    cv::dnn::Net load(const OnnxModel& model) const {
        model.write(m_folder / "model.onnx");
        return readNet(m_folder / "model.onnx");
    }

    cv::Mat tokens() const { return test::makeBatch(fourBlocks(), 1, 40, 1); }

    test::TempFolder m_folder;
};

TEST_F(LayerPartsTest, FollowTheDataFlow) {
    cv::dnn::Net net = load(adapterModel(true));
    net.setInput(tokens());
    net.forward();
    const Names expected = {
        "beside the patch embedding", "patch embedding",    "into the encoder", "encoder, segment 1",
        "between segments 1 and 2",   "encoder, segment 2", "decoder blocks",   "behind the encoder"};
    Names names = LayerParts(net, "").names();
    EXPECT_TRUE(std::is_permutation(names.begin(), names.end(), expected.begin(), expected.end()))
        << testing::PrintToString(names);
}

TEST_F(LayerPartsTest, WithoutASideBranchAllInFrontIsTheEmbedding) {
    cv::dnn::Net net = load(adapterModel(false));
    net.setInput(tokens());
    net.forward();
    const Names expected = {"patch embedding",    "encoder, segment 1", "between segments 1 and 2",
                            "encoder, segment 2", "decoder blocks",     "behind the encoder"};
    Names names = LayerParts(net, "").names();
    EXPECT_TRUE(std::is_permutation(names.begin(), names.end(), expected.begin(), expected.end()))
        << testing::PrintToString(names);
}

TEST_F(LayerPartsTest, ADetectorHasPartsAroundItsSelection) {
    for (const bool withDecoder : {false, true}) {
        cv::dnn::Net net = load(detectorModel(withDecoder));
        net.setInput(tokens());
        net.forward();
        Names expected = {"patch embedding", "encoder", "neck", "selection"};
        if (withDecoder) expected.insert(expected.end(), {"decoder", "other"});
        Names names = LayerParts(net, "").names();
        // OpenCV 4 adds a layer after the last operator. This layer counts as the decoder.
        if (!withDecoder) names.erase(std::remove(names.begin(), names.end(), "decoder"), names.end());
        EXPECT_TRUE(std::is_permutation(names.begin(), names.end(), expected.begin(), expected.end()))
            << testing::PrintToString(names);
    }
}

// The time in the encoder's report is measured inside the encoder's layers. So the measured time of these
// layers must be at least as large, unless times belong to the wrong layers.
TEST_F(LayerPartsTest, TimesBelongToTheirLayers) {
    cv::dnn::Net net = load(adapterModel(true));
    Encoder encoder = mpm::encoder(net);
    net.setInput(tokens());
    net.forward();
    const LayerParts parts(net, "");
    for (int i = 0; i < 5; ++i) {
        net.setInput(tokens());
        const auto start = std::chrono::steady_clock::now();
        net.forward();
        const std::chrono::duration<double, std::milli> whole = std::chrono::steady_clock::now() - start;
        const std::vector<double> times = parts.times(net);
        ASSERT_EQ(times.size(), parts.names().size()) << "this engine measures no layers";
        double segments = 0;
        for (size_t part = 0; part < times.size(); ++part) {
            EXPECT_GT(times[part], 0) << parts.names()[part];
            if (parts.names()[part].rfind("encoder", 0) == 0) segments += times[part];
        }
        EXPECT_GE(segments, encoder.report().times.whole);
        EXPECT_LE(sumOf(times), whole.count());
    }
}

TEST_F(LayerPartsTest, NeedAnEncoderThatMerges) {
    OnnxModel model;
    model.input("tokens", {1, 41, 24});
    model.constant("c", cv::Mat(41, 24, CV_32F, cv::Scalar(0.1)), {1, 41, 24});
    addSum(model, "tokens", "c", "output");
    model.output("output", {1, 41, 24});
    cv::dnn::Net net = load(model);
    EXPECT_THROW(encoderLayers(net), cv::Exception);
}

TEST_F(LayerPartsTest, LayersBehindTheOutputDoNotCount) {
    cv::dnn::Net net = load(adapterModel(true));
    net.setInput(tokens());
    net.forward();
    const EncoderLayers layers = encoderLayers(net);
    ASSERT_EQ(layers.segments.size(), 2u);
    ASSERT_EQ(layers.others.size(), 1u);
    if (layers.segments[0] == 0) GTEST_SKIP() << "an engine that always runs all layers";
    const cv::String first = net.getLayer(layers.segments[0])->name;
    try {
        net.setInput(tokens());
        net.forward(first);
    } catch (const cv::Exception&) {
        GTEST_SKIP() << "an engine that keeps no results of inner layers";
    }
    const Names names = LayerParts(net, first).names();
    EXPECT_EQ(std::count(names.begin(), names.end(), "decoder blocks"), 0);
    EXPECT_EQ(std::count(names.begin(), names.end(), "encoder, segment 2"), 0);
}

}  // namespace
}  // namespace mpm::pipeline

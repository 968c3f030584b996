// Tests maps and chains inside cv::dnn, with models from ONNX files.
#include <gtest/gtest.h>

#include <thread>

#include "dnn_fixture.hpp"
#include "mpm_layer/encoder/network_state.hpp"

namespace mpm::test {
namespace {

class ChainTest : public DnnTest {};

EncoderOptions sixBlocks() {
    EncoderOptions o;
    o.blocks = 6, o.schedule = {1, 4}, o.imageTokens = 40;
    return o;
}

/// Returns a model of consecutive segments. Adds `added` (if not empty) to the tokens between segments.
OnnxModel chainModel(const std::vector<EncoderCase>& segments, int batch, int tokens,
                     const cv::Mat& added = cv::Mat(), bool mapAsOutput = false) {
    const EncoderOptions& o = segments[0].options;
    const Dims dims = {batch, o.special + tokens + o.trailing, o.dim()};
    OnnxModel model;
    model.input("tokens", dims);
    if (!added.empty()) model.constant("added", added, {1, dims[1], dims[2]});
    std::string x = "tokens", map;
    for (size_t s = 0; s < segments.size(); ++s) {
        const std::string number = std::to_string(s);
        std::vector<std::string> inputs = {x}, outputs = {"tokens" + number};
        if (segments[s].options.map) inputs.push_back(map);
        if (segments[s].options.mapOutput) outputs.push_back(map = "map" + number);
        addEncoder(model, segments[s], inputs, outputs);
        x = outputs[0];
        if (s + 1 == segments.size() || added.empty()) continue;
        // Uses MpmArithmetic, because a sum in OpenCV 4.6 cannot broadcast an operand along the batch.
        model.node("MpmArithmetic", {x, "added"}, {"sum" + number}, "mpm");
        model.attribute("operation", std::string("add"));
        x = "sum" + number;
    }
    model.output(x, dims);
    if (mapAsOutput) model.output(map, {batch, tokens}, CV_VERSION_MAJOR >= 5);
    return model;
}

TEST_F(ChainTest, EqualsOneEncoderWithOneHandle) {
    const EncoderCase whole = makeEncoder(sixBlocks());
    cv::dnn::Net one = load(encoderModel(whole, 1, 40));
    cv::dnn::Net cut = load(chainModel(cutEncoder(whole, {2, 4}), 1, 40));
    Encoder expected = mpm::encoder(one), handle = mpm::encoder(cut);
    EXPECT_EQ(handle.blocks(), 6);
    EXPECT_EQ(handle.schedule(), (std::vector<int>{1, 4}));
    const cv::Mat batch = makeBatch(whole.options, 1, 40, 3);
    EXPECT_TRUE(sameBits(forward(cut, batch), forward(one, batch)));
    for (const std::vector<int>& schedule : {std::vector<int>{}, {0}, {2, 3}, {0, 1, 2, 3, 4, 5}}) {
        handle.setSchedule(schedule);
        expected.setSchedule(schedule);
        EXPECT_TRUE(sameBits(forward(cut, batch), forward(one, batch)));
        const ImageReport a = handle.report().images.at(0), b = expected.report().images.at(0);
        EXPECT_TRUE(sameBits(a.map, b.map));
        EXPECT_EQ(a.tokens, b.tokens);
        ASSERT_EQ(a.stages.size(), schedule.size());
        for (size_t s = 0; s < schedule.size(); ++s)
            EXPECT_TRUE(sameBits(a.stages[s].map, b.stages[s].map));
        EXPECT_EQ(mpm_report_stages(0), static_cast<int>(schedule.size()));
    }
    EXPECT_THROW(handle.setSchedule({6}), cv::Exception);
}

TEST_F(ChainTest, KeepsTheTokensOfTheLastSegmentIfWanted) {
    const EncoderCase whole = makeEncoder(sixBlocks());
    cv::dnn::Net cut = load(chainModel(cutEncoder(whole, {2, 4}), 1, 40));
    Encoder handle = mpm::encoder(cut);
    const cv::Mat batch = makeBatch(whole.options, 1, 40, 3);
    const cv::Mat expected = forward(cut, batch);
    EXPECT_TRUE(handle.output().empty());
    handle.keepOutput(true);
    forward(cut, batch);
    const cv::Mat kept = handle.output();
    forward(cut, 2 * batch);
    EXPECT_TRUE(sameBits(kept, expected));
    EXPECT_FALSE(sameBits(handle.output(), expected));
    handle.keepOutput(false);
    EXPECT_TRUE(handle.output().empty());
}

TEST_F(ChainTest, EnvironmentAndImposedMapsCountOverTheChain) {
    const EncoderCase whole = makeEncoder(sixBlocks());
    cv::dnn::Net cut = load(chainModel(cutEncoder(whole, {2}), 1, 40));
    Encoder handle = mpm::encoder(cut);
    const cv::Mat batch = makeBatch(whole.options, 1, 40, 3);
    setenv("MPM_BLOCKS", "0,5", 1);
    forward(cut, batch);
    const std::vector<Stage> stages = handle.report().images.at(0).stages;
    ASSERT_EQ(stages.size(), 2u);
    EXPECT_EQ(stages[0].block, 0);
    EXPECT_EQ(stages[1].block, 5);
    unsetenv("MPM_BLOCKS");
    cv::Mat map(1, 40, CV_32S);
    for (int i = 0; i < 40; ++i)
        map.at<int>(i) = i / 4;
    handle.setSchedule({3});
    handle.setMaps(0, {map});
    forward(cut, batch);
    EXPECT_TRUE(sameBits(handle.report().images.at(0).map, map));
}

TEST_F(ChainTest, WhatIsInjectedIsAveraged) {
    EncoderOptions o = sixBlocks();
    o.special = 3, o.trailing = 2;
    const EncoderCase whole = makeEncoder(o);
    const cv::Mat added = randomMatrix(45, o.dim(), 77);
    cv::dnn::Net cut = load(chainModel(cutEncoder(whole, {2, 4}), -1, 40, added));
    Encoder handle = mpm::encoder(cut);
    for (int images : {1, 3}) {
        const cv::Mat batch = makeBatch(o, images, 40, images), out = forward(cut, batch);
        const Report report = handle.report();
        for (int i = 0; i < images; ++i) {
            OracleGiven given;
            given.injected[2] = given.injected[4] = toRows(added);
            for (int s = 0; s < 2; ++s) {
                const cv::Mat map = report.images.at(i).stages.at(s).map;
                given.imposed[s] = {map.begin<int>(), map.end<int>()};
            }
            const OracleOutput expected =
                oracleEncoder(whole.config, whole.weights, toRows(imageOf(batch, i)), {}, given);
            EXPECT_LT(relativeError(imageOf(out, i), toMatrix(expected.taps[0], o.dim())), 1e-5);
        }
    }
}

TEST_F(ChainTest, ASegmentWithoutMapStartsUnmerged) {
    const EncoderCase whole = makeEncoder(sixBlocks());
    std::vector<EncoderCase> segments = cutEncoder(whole, {2});
    segments[0].options.mapOutput = segments[1].options.map = false;
    cv::dnn::Net net = load(chainModel(segments, 1, 40));
    const cv::Mat batch = makeBatch(whole.options, 1, 40, 3);
    const cv::Mat out = forward(net, batch);
    const ImageReport image = mpm::encoder(net).report().images.at(0);
    EXPECT_LT(image.tokens.at(1), 40);
    EXPECT_EQ(image.tokens.at(2), 40);
    EncoderCase second = segments[1];
    second.config.chainBlocks = 0;
    EncoderCase first = segments[0];
    first.config.schedule = {1}, second.config.schedule = {4};
    const Rows between = oracleEncoder(first.config, first.weights, toRows(imageOf(batch, 0)), {}).taps[0];
    const Rows expected = oracleEncoder(second.config, second.weights, between, {}).taps[0];
    EXPECT_LT(relativeError(imageOf(out, 0), toMatrix(expected, whole.options.dim())), 1e-5);
}

// ToMe does not sort rows by representative. A second run that imposes the last map of a report must still
// join the same tokens.
TEST_F(ChainTest, TheLastStageOfAReportJoinsTheSameTokens) {
    const EncoderCase whole = makeEncoder(sixBlocks());
    cv::dnn::Net net = load(chainModel(cutEncoder(whole, {2}), 1, 40));
    const cv::Mat batch = makeBatch(whole.options, 1, 40, 3);
    Encoder handle = mpm::encoder(net);
    handle.setMethod("tome:r=4");
    const cv::Mat own = forward(net, batch);
    const ImageReport image = handle.report().images.at(0);
    handle.setMaps(static_cast<int>(image.stages.size()) - 1, {image.stages.back().map});
    EXPECT_LT(relativeError(forward(net, batch), own), 1e-6);
}

TEST_F(ChainTest, HandsOutTheComposedMap) {
    EncoderOptions o = sixBlocks();
    o.mapOutput = true;
    const EncoderCase encoder = makeEncoder(o);
    OnnxModel model;
    model.input("tokens", {2, 41, o.dim()});
    addEncoder(model, encoder, {"tokens"}, {"out", "map"});
    model.output("out", {2, 41, o.dim()}).output("map", {2, 40}, CV_VERSION_MAJOR >= 5);
    cv::dnn::Net net = load(model);
    setInput(net, makeBatch(o, 2, 40, 3));
    std::vector<cv::Mat> out;
    net.forward(out, std::vector<cv::String>{"out", "map"});
    cv::Mat map;
    out[1].convertTo(map, CV_32S);
    const Report report = mpm::encoder(net).report();
    for (int i = 0; i < 2; ++i) {
        const cv::Mat row(1, 40, CV_32S, map.ptr<int>() + 40 * i);
        EXPECT_TRUE(sameBits(row.clone(), report.images.at(i).map));
    }
}

TEST_F(ChainTest, TwoNetworksWithOneChainNameKeepApart) {
    const EncoderCase whole = makeEncoder(sixBlocks());
    const OnnxModel model = chainModel(cutEncoder(whole, {3}), 1, 40);
    cv::dnn::Net a = load(model), b = load(model);
    mpm::encoder(a).setSchedule({0});
    EXPECT_EQ(mpm::encoder(b).schedule(), (std::vector<int>{1, 4}));
    const cv::Mat batch = makeBatch(whole.options, 1, 40, 3);
    forward(a, batch);
    forward(b, batch);
    EXPECT_EQ(mpm::encoder(a).report().images.at(0).stages.size(), 1u);
    EXPECT_EQ(mpm::encoder(b).report().images.at(0).stages.size(), 2u);
}

template <class Body>
void expectRejection(const Body& body, const std::string& word) {
    try {
        body();
        FAIL() << "was accepted; expected a rejection that says " << word;
    } catch (const cv::Exception& e) {
        EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
}

TEST_F(ChainTest, SegmentsThatDoNotFitAreRejectedAtTheFirstForward) {
    const EncoderCase whole = makeEncoder(sixBlocks());
    const cv::Mat batch = makeBatch(whole.options, 1, 40, 3);
    const auto run = [&](const std::vector<EncoderCase>& segments) {
        cv::dnn::Net net = load(chainModel(segments, 1, 40));
        forward(net, batch);
    };
    std::vector<EncoderCase> gap = cutEncoder(whole, {2, 3});
    gap.erase(gap.begin() + 1);
    expectRejection([&] { run(gap); }, "there are 0..1, 3..5");
    std::vector<EncoderCase> overlap = cutEncoder(whole, {3});
    overlap[1] = cutEncoder(whole, {2})[1];
    expectRejection([&] { run(overlap); }, "there are 0..2, 2..5");
    std::vector<EncoderCase> half = cutEncoder(whole, {3});
    half.pop_back();
    expectRejection([&] { run(half); }, "there are 0..2");
    EXPECT_NO_THROW(run(cutEncoder(whole, {3})));
}

TEST_F(ChainTest, MapsThatDoNotFitAreRejected) {
    EncoderOptions o = sixBlocks();
    o.map = true;
    const EncoderCase encoder = makeEncoder(o);
    OnnxModel model;
    model.input("tokens", {2, 41, o.dim()}).input("map", {-1, -1});
    addEncoder(model, encoder, {"tokens", "map"}, {"out"});
    model.output("out", {2, 41, o.dim()});
    const cv::Mat batch = makeBatch(o, 2, 40, 3);
    const auto run = [&](const cv::Mat& map) {
        cv::dnn::Net net = load(model);
        net.setInput(batch, "tokens");
        net.setInput(map, "map");
        net.forward();
    };
    cv::Mat singles(2, 40, CV_32F);
    for (int i = 0; i < 80; ++i)
        singles.ptr<float>()[i] = static_cast<float>(i % 40);
    const auto changed = [&](float value) {
        cv::Mat map = singles.clone();
        map.at<float>(1, 7) = value;
        return map;
    };
    EXPECT_NO_THROW(run(singles));
    expectRejection([&] { run(changed(40)); }, "map of image 1 has id 40");
    expectRejection([&] { run(changed(-1)); }, "map of image 1 has id -1");
    expectRejection([&] { run(changed(7.5f)); }, "map of image 1 has id -1");
    expectRejection([&] { run(changed(std::nanf(""))); }, "map of image 1 has id -1");
    expectRejection([&] { run(changed(8)); }, "map of image 1 leaves out id 7");
    expectRejection([&] { run(singles.colRange(0, 39).clone()); }, "map must be [batch, image tokens]");
    expectRejection([&] { run(singles.rowRange(0, 1).clone()); }, "map must be [batch, image tokens]");
}

TEST_F(ChainTest, AttributesThatDoNotFitAreRejected) {
    const EncoderCase whole = makeEncoder(sixBlocks());
    const auto made = [&](const std::function<void(OnnxModel&)>& change) {
        OnnxModel model = encoderModel(whole, 1, 40);
        change(model);
        cv::dnn::Net net = load(model);
        mpm::encoder(net);  // with OpenCV 5.0's engine, only this call reports the error
    };
    expectRejection([&] { made([](OnnxModel& m) { m.attribute("chain", std::string("a")); }); },
                    "chain_blocks");
    expectRejection([&] { made([](OnnxModel& m) { m.attribute("chain_blocks", 5); }); }, "chain_blocks is 5");
    expectRejection([&] { made([](OnnxModel& m) { m.attribute("chain_blocks", 0); }); }, "chain_blocks");
    expectRejection([&] { made([](OnnxModel& m) { m.attribute("trailing_tokens", -1); }); },
                    "trailing_tokens");
    expectRejection([&] { made([](OnnxModel& m) { m.attribute("map_output", 2); }); }, "map_output");
}

// Without the marks of readNet, networks of the same thread share state. Networks of different threads share
// no state, so a head must not use the backbone of another thread.
TEST(NetworkPlace, ThreadsAllocateApart) {
    EncoderConfig config = makeEncoder(sixBlocks()).config;
    NetworkPlace backbone("a"), head("b"), other("c");
    const auto control = backbone.join(config);
    backbone.allocate();
    std::thread([&] { other.allocate(), other.run(); }).join();
    head.allocate();
    EXPECT_EQ(head.backboneBefore(), control);
    EXPECT_EQ(other.backboneBefore(), nullptr);
    std::thread([&] { other.allocate(), other.run(); }).join();
    backbone.run(), head.run();
    EXPECT_EQ(head.backboneBefore(), control);
}

}  // namespace
}  // namespace mpm::test

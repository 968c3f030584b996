#include <gtest/gtest.h>

#include <fstream>

#include <opencv2/imgproc.hpp>

#include "pipeline/segment/model_file.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/source/scene_source.hpp"
#include "support/onnx_model.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

RandomModel smallModel() {
    RandomModel model;
    model.size = {128, 96};
    model.dim = 64, model.depth = 6, model.heads = 2, model.classes = 5;
    return model;
}

/// Returns an image of smooth shapes, in which tokens differ but also form pairs.
cv::Mat shapesImage(int seed, cv::Size size = {200, 150}) {
    cv::Mat small(6, 8, CV_8UC3), large;
    cv::RNG random(seed);
    random.fill(small, cv::RNG::UNIFORM, 0, 256);
    cv::resize(small, large, size, 0, 0, cv::INTER_CUBIC);
    return large;
}

bool same(const cv::Mat& a, const cv::Mat& b) {
    return a.size() == b.size() && a.type() == b.type() && cv::norm(a, b, cv::NORM_INF) == 0;
}

TEST(Segmenter, LabelsHaveTheImagesSizeAndTheReportItsTokens) {
    Segmenter segmenter{Network(smallModel())};
    EXPECT_TRUE(segmenter.network().random());
    const Segmentation result = segmenter.segment(shapesImage(1), Scores::All);
    EXPECT_EQ(result.labels.size(), cv::Size(200, 150));
    EXPECT_EQ(result.labels.type(), CV_8U);
    EXPECT_EQ(result.scores.size(), cv::Size(200, 150));
    double least = 0, most = 0;
    cv::minMaxLoc(result.scores, &least, &most);
    EXPECT_GE(least, 1.0 / 5 - 1e-5);
    EXPECT_LE(most, 1.0);
    EXPECT_EQ(result.grid, cv::Size(8, 6));
    ASSERT_EQ(result.tokens.stages.size(), 2u);
    EXPECT_EQ(result.tokens.tokens.size(), 6u);
    EXPECT_EQ(result.tokens.tokens.front(), 48);
    EXPECT_LT(result.tokens.tokens.back(), 48);
}

TEST(Features, AreRecognisedByTheirShape) {
    const OutputFacts facts{48, 1, 64, false}, named{48, 1, 64, true};
    const auto kind = [](std::vector<int> shape, const OutputFacts& of) {
        return outputKind(cv::Mat(int(shape.size()), shape.data(), CV_32F, cv::Scalar(0)), of);
    };
    EXPECT_EQ(kind({2, 48, 64}, facts), OutputKind::Features);    // without special tokens
    EXPECT_EQ(kind({2, 49, 64}, facts), OutputKind::Features);    // with special tokens
    EXPECT_EQ(kind({2, 52, 64}, facts), OutputKind::Features);    // with special and trailing tokens
    EXPECT_EQ(kind({2, 52, 80}, facts), OutputKind::Unknown);     // boxes of a detector
    EXPECT_EQ(kind({2, 64}, facts), OutputKind::Unknown);         // a vector for the image
    EXPECT_EQ(kind({2, 64, 6, 8}, facts), OutputKind::Features);  // planes of the encoder's width
    EXPECT_EQ(kind({2, 256, 6, 8}, facts), OutputKind::Features);
    EXPECT_EQ(kind({2, 150, 6, 8}, facts), OutputKind::Logits);
    EXPECT_EQ(kind({2, 64, 12, 16}, facts), OutputKind::Logits);
    EXPECT_EQ(kind({2, 64, 6, 8}, named), OutputKind::Logits);
    EXPECT_EQ(kind({2, 1, 96, 128}, facts), OutputKind::Labels);
}

TEST(Features, OnePlaneOfWholeNumbersIsLabels) {
    const OutputFacts facts{48, 1, 64, false};
    const int shape[] = {2, 1, 12, 16};
    for (const auto& [value, ids] : std::vector<std::pair<float, bool>>{{0.f, true},
                                                                        {7.f, true},
                                                                        {65535.f, true},
                                                                        {65536.f, false},
                                                                        {-1.f, false},
                                                                        {0.5f, false},
                                                                        {1e30f, false},
                                                                        {NAN, false}}) {
        cv::Mat output(4, shape, CV_32F, cv::Scalar(3));
        output.ptr<float>(1)[5] = value;
        EXPECT_EQ(outputKind(output, facts), ids ? OutputKind::Labels : OutputKind::Unknown) << value;
        if (!ids) {
            EXPECT_THROW(labelsOf(output, 1, {16, 12}), ModelError) << value;
        }
    }
    EXPECT_EQ(outputKind(cv::Mat(4, shape, CV_32S, cv::Scalar(3)), facts), OutputKind::Labels);
}

TEST(Features, AreTheRowsOfTheImageTokens) {
    const OutputFacts facts{6, 1, 4, false};
    const int rows[] = {2, 7, 4}, planes[] = {2, 4, 2, 3};
    cv::Mat output(3, rows, CV_32F), maps(4, planes, CV_32F);
    for (int image = 0; image < 2; ++image)
        for (int token = 0; token < 7; ++token)
            for (int c = 0; c < 4; ++c) {
                const float value = float(100 * image + 10 * token + c);
                output.at<float>(image, token, c) = value;
                if (token > 0) maps.ptr<float>(image, c)[token - 1] = value;
            }
    for (const cv::Mat& given : {output, maps}) {
        const cv::Mat found = featuresOf(given, 1, facts);
        ASSERT_EQ(found.size(), cv::Size(4, 6));
        EXPECT_EQ(found.at<float>(0, 0), 110);
        EXPECT_EQ(found.at<float>(5, 3), 163);
    }
}

TEST(Features, CosineIsThatOfSeenTokens) {
    const cv::Mat a = (cv::Mat_<float>(3, 2) << 1, 0, 0, 2, 3, 0),
                  b = (cv::Mat_<float>(3, 2) << 5, 0, 0, 1, 0, 1);
    EXPECT_NEAR(meanCosine(a, b), 2.0 / 3, 1e-6);
    EXPECT_NEAR(meanCosine(a, b, (cv::Mat_<uchar>(1, 3) << 255, 255, 0)), 1, 1e-6);
    EXPECT_EQ(meanCosine(a, b, cv::Mat::zeros(1, 3, CV_8U)), 0);
    EXPECT_THROW(meanCosine(a, b.rowRange(0, 2)), cv::Exception);
}

TEST(Segmenter, ABatchEqualsSingles) {
    Segmenter segmenter{Network(smallModel())};
    const std::vector<cv::Mat> images = {shapesImage(1), shapesImage(2, {64, 64}), shapesImage(3)};
    const std::vector<Segmentation> together = segmenter.segment(images);
    for (size_t i = 0; i < images.size(); ++i) {
        const Segmentation alone = segmenter.segment(images[i]);
        EXPECT_TRUE(same(together[i].labels, alone.labels)) << i;
        EXPECT_TRUE(same(together[i].tokens.map, alone.tokens.map)) << i;
    }
}

TEST(Segmenter, TheScheduleChangesWithTheNextFrame) {
    Segmenter segmenter{Network(smallModel())};
    for (int round = 0; round < 3; ++round) {
        segmenter.encoder().setSchedule({});
        EXPECT_EQ(segmenter.segment(shapesImage(round)).tokens.tokens.back(), 48);
        segmenter.encoder().setSchedule({1, 3});
        const Segmentation merged = segmenter.segment(shapesImage(round));
        EXPECT_EQ(merged.tokens.stages.size(), 2u);
        EXPECT_LT(merged.tokens.tokens.back(), 48);
    }
}

TEST(Segmenter, OneSeedIsOneNetwork) {
    Segmenter first{Network(smallModel())}, second{Network(smallModel())};
    EXPECT_TRUE(same(first.segment(shapesImage(1)).labels, second.segment(shapesImage(1)).labels));
}

// With the shipped model on the built-in street, by day and by night, bf16 must change almost no labels.
TEST(Segmenter, Bf16LabelsAlmostEveryPixelAsF32Does) {
    Segmenter exact{Network("default")}, rounded{Network("default")};
    for (Segmenter* one : {&exact, &rounded}) {
        one->encoder().setDevice(mpm::Device::Cpu);
        one->encoder().setSchedule({});
    }
    exact.encoder().setPrecision(mpm::Precision::F32);
    rounded.encoder().setPrecision(mpm::Precision::Auto);
    SceneOptions options;
    options.framesPerDay = options.frames = 8;
    SceneSource street(options);
    street.open();
    double equal = 0, pixels = 0;
    for (Frame frame; street.next(frame);) {
        const Segmentation half = rounded.segment(frame.image);
        if (half.precision != mpm::Precision::BF16) GTEST_SKIP() << "this processor multiplies no bf16";
        const cv::Mat labels = exact.segment(frame.image).labels;
        equal += cv::countNonZero(labels == half.labels);
        pixels += static_cast<double>(labels.total());
        EXPECT_GT(cv::norm(labels, cv::NORM_INF), 0) << "one class everywhere proves nothing";
    }
    EXPECT_GT(pixels, 0);
    EXPECT_GE(equal, 0.995 * pixels) << 100 * equal / pixels << " % are equal";
    RecordProperty("equal", std::to_string(100 * equal / pixels));
}

TEST(Network, WhatIsNoModelIsRefusedInOneLine) {
    test::TempFolder folder;
    std::ofstream(folder / "noise.onnx") << std::string(3000, '\x13');
    for (const std::string& path :
         {std::string("/nowhere/model.onnx"), folder / "noise.onnx", folder.path()}) {
        try {
            Network network(path);
            FAIL() << path << " was taken";
        } catch (const ModelError& error) {
            EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        }
    }
}

/// Runs a forward pass that fails, and returns the message.
std::string failureOf(Network& network, const std::vector<int>& sizes) {
    try {
        network.forward(cv::Mat(sizes, CV_32F, cv::Scalar(0)));
    } catch (const cv::Exception& error) {
        return error.err;
    }
    return "";
}

TEST(Network, OnlyAnotherBatchIsAnsweredWithABatch) {
    const test::TempFolder folder;
    test::EncoderOptions options;
    options.special = 0, options.imageTokens = 16;
    test::OnnxModel model;
    model.input("picture", {1, 3, 32, 32});
    model.constant("embed", cv::Mat(std::vector<int>{options.dim(), 3, 8, 8}, CV_32F, cv::Scalar(0.1)));
    model.node("Conv", {"picture", "embed"}, {"patches"})
        .ints("kernel_shape", {8, 8})
        .ints("strides", {8, 8});
    model.constant("shape", std::vector<long long>{1, options.dim(), 16});
    model.node("Reshape", {"patches", "shape"}, {"columns"});
    model.node("Transpose", {"columns"}, {"tokens"}).ints("perm", {0, 2, 1});
    test::addEncoder(model, test::makeEncoder(options), {"tokens"}, {"features"});
    model.output("features", {1, 16, options.dim()});
    model.write(folder / "model.onnx");
    Network network(folder / "model.onnx");
    EXPECT_EQ(failureOf(network, {1, 3, 32, 32}), "");
    const std::string batch = failureOf(network, {2, 3, 32, 32}), size = failureOf(network, {1, 3, 40, 40});
    EXPECT_NE(batch.find("fixed at 1: use 1, or convert its original export with --batch 2"),
              std::string::npos)
        << batch;
    EXPECT_NE(size.find("model.onnx: cannot run"), std::string::npos) << size;
    EXPECT_EQ(size.find("--batch"), std::string::npos) << size;
}

TEST(Network, RandomModelsCheckTheirSizes) {
    RandomModel model = smallModel();
    model.size = {100, 96};
    EXPECT_THROW(Network{model}, cv::Exception);
    model = smallModel();
    model.heads = 3;
    EXPECT_THROW(Network{model}, cv::Exception);
}

TEST(TokenGrid, TakesTheInputsShape) {
    EXPECT_EQ(tokenGrid(1024, {512, 512}), cv::Size(32, 32));
    EXPECT_EQ(tokenGrid(690, {480, 360}), cv::Size(30, 23));
    EXPECT_EQ(tokenGrid(48, {128, 96}), cv::Size(8, 6));
    EXPECT_EQ(tokenGrid(1, {16, 16}), cv::Size(1, 1));
}

}  // namespace
}  // namespace mpm::pipeline

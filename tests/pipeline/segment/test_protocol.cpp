#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>

#include "pipeline/segment/protocol.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::pipeline {
namespace {

RandomModel tinyModel() {
    RandomModel model;
    model.size = {64, 48};
    model.dim = 32, model.depth = 6, model.heads = 2, model.classes = 4;
    return model;
}

cv::Mat smoothImage(cv::Size size) {
    cv::Mat small(6, 8, CV_8UC3), large;
    cv::RNG(5).fill(small, cv::RNG::UNIFORM, 0, 256);
    cv::resize(small, large, size, 0, 0, cv::INTER_CUBIC);
    return large;
}

TEST(Windows, CoverTheImageAndEndAtItsBorder) {
    EXPECT_EQ(slidingWindows({512, 512}, {512, 512}, {512, 512}).size(), 1u);
    EXPECT_EQ(slidingWindows({683, 512}, {512, 512}, {512, 512}),
              (std::vector<cv::Rect>{{0, 0, 512, 512}, {171, 0, 512, 512}}));
    EXPECT_EQ(slidingWindows({2048, 1024}, {768, 768}, {512, 512}).size(), 8u);
    EXPECT_EQ(slidingWindows({100, 50}, {512, 512}, {512, 512}), (std::vector<cv::Rect>{{0, 0, 512, 512}}));
    for (const cv::Size size : {cv::Size(64, 48), cv::Size(65, 49), cv::Size(200, 131)}) {
        cv::Mat seen = cv::Mat::zeros(size, CV_8U);
        for (const cv::Rect& window : slidingWindows(size, {64, 48}, {40, 30})) {
            EXPECT_EQ(window & cv::Rect({0, 0}, size), window);
            seen(window) = 1;
        }
        EXPECT_EQ(cv::countNonZero(seen), size.area());
    }
}

TEST(Windows, ScaleKeepsTheShape) {
    EXPECT_EQ(scaledSize({683, 512}, 512), cv::Size(683, 512));
    EXPECT_EQ(scaledSize({1366, 1024}, 512), cv::Size(683, 512));
    EXPECT_EQ(scaledSize({480, 640}, 240), cv::Size(240, 320));
    EXPECT_EQ(scaledSize({480, 640}, 0), cv::Size(480, 640));
}

TEST(Protocol, OneWindowOfTheModelsSizeIsPlainSegmentation) {
    Segmenter plain{Network(tinyModel())};
    Network network(tinyModel());
    ProtocolSegmenter protocol(network, {}, 1);
    const cv::Mat input = smoothImage({64, 48});
    const cv::Mat expected = plain.segment(input).labels, found = protocol.segment({input})[0].labels;
    EXPECT_LE(cv::countNonZero(expected != found), 3);  // scores are rounded differently, which decides ties
}

// A second, simple implementation of the protocol: window by window, without batches and shared planes.
TEST(Protocol, EqualsAPlainWriting) {
    Network network(tinyModel());
    const cv::Size size(150, 70);
    const cv::Mat input = smoothImage(size);
    Protocol how;
    how.shortSide = 60;
    how.stride = {40, 30};
    cv::Mat scaled;
    cv::resize(input, scaled, {129, 60}, 0, 0, cv::INTER_LINEAR);
    std::vector<cv::Mat> sums(4);
    for (cv::Mat& sum : sums)
        sum = cv::Mat::zeros(60, 129, CV_32F);
    cv::Mat counts = cv::Mat::zeros(60, 129, CV_32F);
    for (int y : {0, 12})
        for (int x : {0, 40, 65}) {
            const cv::Mat output = network.forward(network.blob({scaled(cv::Rect(x, y, 64, 48)).clone()}));
            for (int c = 0; c < 4; ++c) {
                const cv::Mat plane(3, 4, CV_32F, const_cast<float*>(output.ptr<float>(0, c)));
                cv::Mat large;
                cv::resize(plane, large, {64, 48}, 0, 0, cv::INTER_LINEAR);
                sums[c](cv::Rect(x, y, 64, 48)) += large;
            }
            counts(cv::Rect(x, y, 64, 48)) += 1;
        }
    cv::Mat best, expected(size, CV_8U, cv::Scalar(0));
    for (int c = 0; c < 4; ++c) {
        cv::Mat mean = sums[c] / counts, large;
        cv::resize(mean, large, size, 0, 0, cv::INTER_LINEAR);
        if (c == 0) best = large.clone();
        const cv::Mat better = large > best;
        large.copyTo(best, better);
        expected.setTo(c, better);
    }
    for (int batch : {1, 4}) {
        const ProtocolResult result = ProtocolSegmenter(network, how, batch).segment({input})[0];
        EXPECT_EQ(result.windows.size(), 6u);
        EXPECT_LE(cv::countNonZero(result.labels != expected), size.area() / 1000) << "batch " << batch;
    }
}

TEST(Protocol, SmallImagesArePaddedAndCutBack) {
    Network network(tinyModel());
    const ProtocolResult result = ProtocolSegmenter(network, {}, 1).segment({smoothImage({30, 20})})[0];
    EXPECT_EQ(result.labels.size(), cv::Size(30, 20));
    EXPECT_EQ(result.windows.size(), 1u);
}

}  // namespace
}  // namespace mpm::pipeline

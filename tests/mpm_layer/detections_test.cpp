// Converts the outputs of a detector to objects, and reads the metadata that describes the outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <opencv2/imgproc.hpp>

#include <mpm/mpm.hpp>

#include "base/random.hpp"
#include "support/onnx_model.hpp"
#include "support/refusal.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

cv::Mat array(const std::vector<int>& shape, const std::vector<float>& values) {
    cv::Mat mat(int(shape.size()), shape.data(), CV_32F);
    CV_Assert(mat.total() == values.size());
    std::copy(values.begin(), values.end(), mat.ptr<float>());
    return mat;
}

ModelInfo infoOf(const DetectionOutputs& outputs) {
    ModelInfo info;
    info.size = {64, 32};
    info.detections = outputs;
    return info;
}

DetectionOutputs named() {
    DetectionOutputs outputs;
    outputs.boxes = "boxes";
    outputs.scores = "scores";
    return outputs;
}

float logit(float p) {
    return std::log(p / (1 - p));
}

const cv::Size kImage(200, 100);

TEST(Detections, SigmoidTakesEachPairAboveTheThreshold) {
    const cv::Mat boxes = array({1, 2, 4}, {.5, .5, .2, .4, .25, .25, .1, .1});
    const cv::Mat scores =
        array({1, 2, 3}, {logit(.6F), logit(.2F), logit(.9F), logit(.7F), kNan, logit(.5F)});
    const auto found = detections({boxes, scores}, {"boxes", "scores"}, infoOf(named()), kImage, .5F);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].label, 2);
    EXPECT_NEAR(found[0].score, .9, 1e-6);
    EXPECT_NEAR(found[0].box.x, 80, 1e-4);
    EXPECT_NEAR(found[0].box.y, 30, 1e-4);
    EXPECT_NEAR(found[0].box.width, 40, 1e-4);
    EXPECT_NEAR(found[0].box.height, 40, 1e-4);
    EXPECT_TRUE(found[0].mask.empty());
    EXPECT_EQ(found[1].label, 0);
    EXPECT_NEAR(found[1].score, .7, 1e-6);
    EXPECT_EQ(found[2].label, 0);
    // The names tell boxes from scores, so the outputs may have any order.
    EXPECT_EQ(detections({scores, boxes}, {"scores", "boxes"}, infoOf(named()), kImage, .5F).size(), 3U);
    EXPECT_EQ(detections({boxes, scores}, {"boxes", "scores"}, infoOf(named()), kImage, .5F, 0, 2).size(),
              2U);
    EXPECT_EQ(detections({boxes, scores}, {"boxes", "scores"}, infoOf(named()), kImage, -1).size(), 5U);
}

TEST(Detections, EqualScoresKeepTheOrderOfBoxes) {
    const cv::Mat boxes = array({1, 3, 4}, {.1F, .5, .1F, .1F, .2F, .5, .1F, .1F, .3F, .5, .1F, .1F});
    const cv::Mat scores = array({1, 3, 2}, {1, 1, 2, 1, 1, 2});
    const auto found = detections({boxes, scores}, {"boxes", "scores"}, infoOf(named()), kImage, .5F);
    ASSERT_EQ(found.size(), 6U);
    std::vector<int> labels;
    for (const Detection& one : found)
        labels.push_back(one.label);
    EXPECT_EQ(labels, (std::vector<int>{0, 1, 0, 1, 1, 0}));
}

TEST(Detections, SoftmaxTakesTheBestClassOtherThanTheBackground) {
    DetectionOutputs outputs = named();
    outputs.activation = ScoreActivation::Softmax;
    outputs.background = 2;
    outputs.format = BoxFormat::XyXy;
    const cv::Mat boxes = array({1, 3, 4}, {0, 0, .5, .5, 0, 0, .5, .5, 0, 0, .5, .5});
    const cv::Mat scores = array({1, 3, 3}, {std::log(1.F), std::log(2.F), std::log(5.F),  //
                                             std::log(6.F), std::log(3.F), std::log(1.F), 1, kNan, 2});
    const auto found = detections({boxes, scores}, {"boxes", "scores"}, infoOf(outputs), kImage, .1F);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].label, 0);
    EXPECT_NEAR(found[0].score, .6, 1e-6);
    EXPECT_EQ(found[1].label, 1);
    EXPECT_NEAR(found[1].score, .25, 1e-6);
}

TEST(Detections, WithoutActivationScoresAndLabelsAreAsGiven) {
    DetectionOutputs outputs = named();
    outputs.activation = ScoreActivation::None;
    outputs.labels = "labels";
    outputs.format = BoxFormat::XyXy;
    outputs.scale = BoxScale::Pixels;
    outputs.sizeInput = "size";
    const cv::Mat boxes = array({1, 4, 4}, {1, 2, 31, 42, 1, 2, 31, 42, 1, 2, 31, 42, 1, 2, 31, 42});
    const cv::Mat scores = array({1, 4}, {.3F, .8F, .9F, .7F});
    for (const int type : {CV_32F, CV_32S, CV_64F}) {
        cv::Mat labels;
        array({1, 4}, {7, 90, -1, 5}).convertTo(labels, type);
        const auto found =
            detections({labels, boxes, scores}, {"labels", "boxes", "scores"}, infoOf(outputs), kImage, .5F);
        ASSERT_EQ(found.size(), 2U);
        EXPECT_EQ(found[0].label, 90);
        EXPECT_FLOAT_EQ(found[0].score, .8F);
        EXPECT_EQ(found[0].box, cv::Rect2f(1, 2, 30, 40));
        EXPECT_EQ(found[1].label, 5);
    }
}

TEST(Detections, PixelsOfTheInputAreStretched) {
    DetectionOutputs outputs = named();
    outputs.scale = BoxScale::Pixels;
    outputs.format = BoxFormat::XyXy;
    const cv::Mat boxes = array({1, 1, 4}, {16, 8, 32, 16}), scores = array({1, 1, 1}, {3});
    const auto found = detections({boxes, scores}, {"boxes", "scores"}, infoOf(outputs), kImage, .5F);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].box, cv::Rect2f(50, 25, 50, 25));
    ModelInfo info = infoOf(outputs);
    info.size = {};
    expectRefusal([&] { detections({boxes, scores}, {"boxes", "scores"}, info, kImage, .5F); }, "info.size");
}

TEST(Detections, ClipsBoxesAndDropsThoseWithoutArea) {
    DetectionOutputs outputs = named();
    outputs.format = BoxFormat::XyXy;
    const cv::Mat boxes =
        array({1, 7, 4}, {-1, -1, 2,   2,    .5,  .5,  .5,  .7F, .8F, .5, .2F,   .7F,   kNan, 0,
                          1,  1,  0.5, kInf, .2F, .7F, 1.5, 0,   2,   1,  -kInf, -kInf, kInf, kInf});
    const cv::Mat scores = array({1, 7, 1}, {7, 6, 5, 4, 3, 2, 1});
    const auto found = detections({boxes, scores}, {"boxes", "scores"}, infoOf(outputs), kImage, .5F);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].box, cv::Rect2f(0, 0, 200, 100));
    EXPECT_EQ(found[1].box, cv::Rect2f(0, 0, 200, 100));
    EXPECT_GT(found[0].score, found[1].score);
}

TEST(Detections, AMaskIsThatOfTheResizedLogits) {
    DetectionOutputs outputs = named();
    outputs.masks = "masks";
    Random random(5);
    std::vector<float> values(2 * 9 * 13);
    for (float& value : values)
        value = float(random.uniform(-2, 2));
    const cv::Mat masks = array({1, 2, 9, 13}, values);
    const cv::Mat boxes = array({1, 2, 4}, {.4F, .6F, .31F, .5, .5, .5, 1, 1}),
                  scores = array({1, 2, 1}, {2, 1});
    const auto found =
        detections({boxes, scores, masks}, {"boxes", "scores", "masks"}, infoOf(outputs), kImage, .5F);
    ASSERT_EQ(found.size(), 2U);
    for (int i = 0; i < 2; ++i) {
        cv::Mat whole;
        cv::resize(cv::Mat(9, 13, CV_32F, values.data() + i * 9 * 13), whole, kImage, 0, 0, cv::INTER_LINEAR);
        const cv::Rect2f& box = found[i].box;
        const cv::Rect area(cvRound(box.x), cvRound(box.y), cvRound(box.width), cvRound(box.height));
        ASSERT_EQ(found[i].mask.size(), area.size());
        EXPECT_EQ(found[i].mask.type(), CV_8U);
        const cv::Mat cut = whole(area), expected = cut > 0, sure = cv::abs(cut) > 1e-4;
        EXPECT_EQ(cv::countNonZero((found[i].mask * 255 != expected) & sure), 0);
        EXPECT_GT(cv::countNonZero(found[i].mask), 0);
    }
}

TEST(Detections, OfTheChosenImage) {
    const cv::Mat boxes = array({2, 1, 4}, {.5, .5, .2F, .2F, .5, .5, .4F, .4F}),
                  scores = array({2, 1, 1}, {1, 2});
    const auto found = detections({boxes, scores}, {"boxes", "scores"}, infoOf(named()), kImage, .5F, 1);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NEAR(found[0].box.width, 80, 1e-4);
    for (const int b : {-1, 2})
        expectRefusal(
            [&] {
                detections({boxes, scores}, {"boxes", "scores"}, infoOf(named()), kImage, .5F, b);
            },
            "b is " + std::to_string(b));
}

TEST(Detections, WrongUseNamesTheArgument) {
    const cv::Mat boxes = array({1, 2, 4}, std::vector<float>(8, .5F)),
                  scores = array({1, 2, 3}, std::vector<float>(6));
    const auto expect = [&](const std::vector<cv::Mat>& outputs, const std::vector<std::string>& names,
                            const ModelInfo& info, const std::string& word) {
        expectRefusal([&] { detections(outputs, names, info, kImage, .5F); }, word);
    };
    const std::vector<std::string> names = {"boxes", "scores"};
    expect({boxes, scores}, names, {}, "info.detections is not set");
    expect({boxes}, names, infoOf(named()), "1 outputs and 2 names");
    expect({boxes, scores}, {"boxes", "other"}, infoOf(named()), "names has no \"scores\"");
    expect({boxes, array({1, 3, 3}, std::vector<float>(9))}, names, infoOf(named()), "\"scores\"");
    expect({array({1, 2, 5}, std::vector<float>(10)), scores}, names, infoOf(named()), "four values");
    expect({boxes, cv::Mat()}, names, infoOf(named()), "\"scores\"");
    expect({boxes, array({1, 1, 2, 3}, std::vector<float>(6))}, names, infoOf(named()), "\"scores\"");
    DetectionOutputs masked = named();
    masked.masks = "masks";
    expect({boxes, scores, array({1, 3, 2, 2}, std::vector<float>(12))}, {"boxes", "scores", "masks"},
           infoOf(masked), "2 masks");
    const ModelInfo info = infoOf(named());
    expectRefusal([&] { detections({boxes, scores}, names, info, {0, 5}, .5F); }, "imageSize");
    expectRefusal([&] { detections({boxes, scores}, names, info, kImage, kNan); }, "threshold");
    expectRefusal([&] { detections({boxes, scores}, names, info, kImage, .5F, 0, -1); }, "most");
}

TEST(Detections, NoBoxesAreNoObjects) {
    const int none[] = {1, 0, 4}, noScores[] = {1, 0, 3};
    const cv::Mat boxes(3, none, CV_32F), scores(3, noScores, CV_32F);
    try {
        EXPECT_TRUE(detections({boxes, scores}, {"boxes", "scores"}, infoOf(named()), kImage, .5F).empty());
    } catch (const cv::Exception& error) {
        EXPECT_NE(error.err.find("\"boxes\""), std::string::npos);
    }
}

std::optional<DetectionOutputs> readFrom(const std::string& json, bool integers = true) {
    OnnxModel model;
    model.input("image", {1, 3, 8, 16})
        .input("orig", {1, 2}, integers)
        .node("Relu", {"image"}, {"out"})
        .output("out", {1, 3, 8, 16});
    model.metadata("mpm.detections", json);
    const TempFolder folder;
    model.write(folder / "model.onnx");
    const ModelInfo info = modelInfo(folder / "model.onnx");
    EXPECT_EQ(info.input, "image");
    return info.detections;
}

TEST(DetectionMetadata, IsRead) {
    auto outputs = readFrom(R"({"boxes": "dets", "scores": "labels"})");
    ASSERT_TRUE(outputs);
    EXPECT_EQ(outputs->boxes, "dets");
    EXPECT_EQ(outputs->scores, "labels");
    EXPECT_EQ(outputs->format, BoxFormat::CxCyWh);
    EXPECT_EQ(outputs->activation, ScoreActivation::Sigmoid);
    EXPECT_EQ(outputs->background, -1);
    outputs = readFrom(
        R"({"boxes": "b", "scores": "s", "masks": "m", "labels": "l", "format": "xyxy", "scale": "pixels",
        "activation": "none", "background": 90, "size_input": "orig", "size_order": "hw", "later": [1]})");
    ASSERT_TRUE(outputs);
    EXPECT_EQ(outputs->masks, "m");
    EXPECT_EQ(outputs->labels, "l");
    EXPECT_EQ(outputs->format, BoxFormat::XyXy);
    EXPECT_EQ(outputs->scale, BoxScale::Pixels);
    EXPECT_EQ(outputs->activation, ScoreActivation::None);
    EXPECT_EQ(outputs->background, 90);
    EXPECT_EQ(outputs->sizeInput, "orig");
    EXPECT_EQ(outputs->sizeOrder, SizeOrder::Hw);
    EXPECT_TRUE(outputs->sizeIsInt64);
    outputs = readFrom(R"({"boxes": "b", "scores": "s", "size_input": "orig"})", false);
    ASSERT_TRUE(outputs);
    EXPECT_FALSE(outputs->sizeIsInt64);
    outputs = readFrom(R"({"boxes": "b", "scores": "s", "size_input": {"name": "orig", "order": "hw"}})");
    ASSERT_TRUE(outputs);
    EXPECT_EQ(outputs->sizeInput, "orig");
    EXPECT_EQ(outputs->sizeOrder, SizeOrder::Hw);
    EXPECT_TRUE(readFrom(R"({"boxes": "b", "scores": "s", "masks": null, "background": null})"));
}

TEST(DetectionMetadata, ThatIsNotAsDescribedIsRejected) {
    for (const char* json :
         {"[]", "null", "7", "{}", R"({"boxes": "b"})", R"({"boxes": "b", "scores": "b"})",
          R"({"boxes": "b", "scores": 7})", R"({"boxes": "b", "scores": "s", "format": "xywh"})",
          R"({"boxes": "b", "scores": "s", "scale": 1})",
          R"({"boxes": "b", "scores": "s", "activation": "relu"})",
          R"({"boxes": "b", "scores": "s", "background": -1})",
          R"({"boxes": "b", "scores": "s", "background": 1.5})",
          R"({"boxes": "b", "scores": "s", "background": 1e30})",
          R"({"boxes": "b", "scores": "s", "labels": "l"})",
          R"({"boxes": "b", "scores": "s", "size_order": "xy"})",
          R"({"boxes": "b", "scores": "s", "masks": ["m"]})",
          R"({"boxes": "b", "scores": "s", "a": [[[[1]]]]})", R"({"boxes": "b", )"}) {
        SCOPED_TRACE(json);
        expectRefusal([&] { readFrom(json); }, "metadata mpm.detections");
    }
}

}  // namespace
}  // namespace mpm::test

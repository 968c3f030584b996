// Detectors in `mpm run`: boxes and tracks in files, drawn boxes; objects of segmentation models.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<json> lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<json> all;
    for (std::string line; std::getline(file, line);)
        all.push_back(json::parse(line));
    return all;
}

class Objects : public ::testing::Test {
protected:
    Objects() {
        SmallModel detector;
        detector.boxes = 3;
        writeSmallModel(path("detector.onnx"), detector);
        fs::create_directory(path("in"));
        for (int i = 1; i <= 3; ++i)
            cv::imwrite(path("in/" + std::to_string(i) + ".png"), testImage(i, {300, 200}));
    }
    std::string path(const std::string& name) { return m_folder / name; }
    Outcome run(const std::vector<std::string>& more, const std::string& model = "detector.onnx",
                const std::string& source = "in") {
        std::vector<std::string> words = {"run", path(model), path(source), "--out", path("out")};
        words.insert(words.end(), more.begin(), more.end());
        return mpmProgram(words);
    }

    TempFolder m_folder;
};

TEST_F(Objects, OfADetectorAreDescribed) {
    SmallModel detector;
    detector.boxes = 3, detector.sizeInput = true;
    writeSmallModel(path("sized.onnx"), detector);
    const auto described = [&](const std::string& model) {
        return json::parse(mpmProgram({"info", path(model), "--json"}).out)["detections"];
    };
    json expected{{"boxes", "dets"},
                  {"scores", "scores"},
                  {"format", "cxcywh"},
                  {"scale", "unit"},
                  {"activation", "sigmoid"}};
    EXPECT_EQ(described("detector.onnx"), expected);
    expected["scale"] = "pixels";
    expected["size_input"] = {{"name", "image size"}, {"order", "wh"}};
    EXPECT_EQ(described("sized.onnx"), expected);
}

TEST_F(Objects, OfADetectorAreWrittenAndDrawn) {
    const Outcome outcome = run({});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<json> found = lines(path("out/detections.jsonl"));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[1]["file"], "2");
    EXPECT_EQ(found[1]["frame"], 1);
    EXPECT_TRUE(found[1]["time"].is_string());
    const json boxes = found[0]["boxes"];
    ASSERT_EQ(boxes.size(), 3U);
    EXPECT_EQ(boxes[0]["label"], 0);
    EXPECT_EQ(boxes[0]["name"], "thing 0");
    EXPECT_NEAR(boxes[0]["score"], 1 / (1 + std::exp(-3.)), 1e-5);
    const std::vector<double> corners = boxes[1]["xyxy"];
    const double expected[] = {110, 40, 190, 160};
    for (int i = 0; i < 4; ++i)
        EXPECT_NEAR(corners[i], expected[i], 1e-3);
    const cv::Mat before = cv::imread(path("in/1.png")), drawn = cv::imread(path("out/1.overlay.png"));
    ASSERT_EQ(drawn.size(), before.size());
    EXPECT_NE(drawn.at<cv::Vec3b>(100, 110), before.at<cv::Vec3b>(100, 110));  // the side of a box
    EXPECT_EQ(drawn.at<cv::Vec3b>(100, 150), before.at<cv::Vec3b>(100, 150));  // inside the box
    EXPECT_TRUE(fs::exists(path("out/1.map.png")));
    EXPECT_TRUE(fs::exists(path("out/tokens.csv")));
    EXPECT_FALSE(fs::exists(path("out/1.labels.png")));
}

TEST_F(Objects, AreThoseAboveTheThresholdAndOfTheClasses) {
    ASSERT_EQ(run({"--save", "boxes", "--threshold", "0.9"}).status, 0);
    EXPECT_EQ(lines(path("out/detections.jsonl"))[0]["boxes"].size(), 1U);
    ASSERT_EQ(run({"--save", "boxes", "--classes", "thing 2,1"}).status, 0);
    const json boxes = lines(path("out/detections.jsonl"))[0]["boxes"];
    ASSERT_EQ(boxes.size(), 2U);
    EXPECT_EQ(boxes[0]["label"], 1);
    EXPECT_EQ(boxes[1]["label"], 2);
    const Outcome wrong = run({"--classes", "unicorn"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_TRUE(wrong.says("unicorn")) << wrong.err;
}

TEST_F(Objects, OfADetectorWithWindowsComeWithReuse) {
    SmallModel detector;
    detector.boxes = 3, detector.windows = true;
    writeSmallModel(path("windows.onnx"), detector);
    const Outcome outcome = run({"--save", "boxes,jsonl,reuse", "--reuse=exact=1,full=1"}, "windows.onnx");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(fs::exists(path("out/2.reuse.png")));
    const std::vector<json> found = lines(path("out/tokens.jsonl"));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0]["reuse"]["state"], "full");
    EXPECT_EQ(found[1]["reuse"]["state"], "partial");
    for (const json& line : lines(path("out/detections.jsonl")))
        EXPECT_EQ(line["boxes"].size(), 3U);
    const Outcome bench = mpmProgram({"bench", path("windows.onnx"), path("in"), "--compare", "none,reuse",
                                      "--rounds", "3", "--json", path("bench.json")});
    EXPECT_EQ(bench.status, 0) << bench.err;
    EXPECT_NE(bench.out.find("With reuse a frame takes"), std::string::npos) << bench.out;
}

TEST_F(Objects, OfANetworkThatAsksForTheSizeAreInPixels) {
    SmallModel detector;
    detector.boxes = 2;
    detector.sizeInput = true;
    detector.masks = true;
    writeSmallModel(path("pixels.onnx"), detector);
    const Outcome outcome = run({"--save", "boxes,overlay"}, "pixels.onnx");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<double> corners = lines(path("out/detections.jsonl"))[0]["boxes"][0]["xyxy"];
    const double expected[] = {15, 40, 135, 160};
    for (int i = 0; i < 4; ++i)
        EXPECT_NEAR(corners[i], expected[i], 1e-2);
    const cv::Mat before = cv::imread(path("in/1.png")), drawn = cv::imread(path("out/1.overlay.png"));
    EXPECT_NE(drawn.at<cv::Vec3b>(100, 75), before.at<cv::Vec3b>(100, 75));  // tinted: left half of the image
    EXPECT_EQ(drawn.at<cv::Vec3b>(100, 225), before.at<cv::Vec3b>(100, 225));  // outside of the mask
}

TEST_F(Objects, KeepTheirIdentityInTracks) {
    const Outcome outcome = run({"--save", "tracks,overlay"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<json> found = lines(path("out/tracks.jsonl"));
    ASSERT_EQ(found.size(), 3U);
    for (const json& line : found) {
        ASSERT_EQ(line["tracks"].size(), 3U);
        EXPECT_EQ(line["tracks"][0]["id"], 1);
        EXPECT_EQ(line["tracks"][2]["id"], 3);
        EXPECT_EQ(line["tracks"][0]["name"], "thing 0");
    }
    std::ifstream text(path("out/tracks.txt"));
    std::string first;
    std::getline(text, first);
    EXPECT_EQ(first.substr(0, 4), "1,1,");
    // Evaluates the written tracks with the same tracks as truth, so all scores must be 1.
    const Outcome scored = mpmProgram(
        {"eval", "--dataset", "mot", "--truth", path("out/tracks.txt"), "--results", path("out/tracks.txt")});
    EXPECT_EQ(scored.status, 0) << scored.err;
    EXPECT_NE(scored.out.find("1.000000"), std::string::npos);
}

TEST_F(Objects, ThatCrossALineAreCounted) {
    SmallModel moving;
    moving.boxes = 3;
    moving.moves = true;
    writeSmallModel(path("moving.onnx"), moving);
    fs::create_directory(path("brighter"));
    cv::imwrite(path("brighter/1.png"), cv::Mat(200, 300, CV_8UC3, cv::Scalar::all(80)));
    cv::imwrite(path("brighter/2.png"), cv::Mat(200, 300, CV_8UC3, cv::Scalar::all(176)));
    const Outcome outcome = run({"--save", "tracks", "--line", "gate=0.5,1,0.5,0", "--line",
                                 "back=0.5,0,0.5,1", "--line", "far=0.95,1,0.95,0"},
                                "moving.onnx", "brighter");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\ngate: 1 forth, 0 back\nback: 0 forth, 1 back\nfar: 0 forth, 0 back\n"),
              std::string::npos)
        << outcome.out;
    const std::vector<json> found = lines(path("out/tracks.jsonl"));
    ASSERT_EQ(found.size(), 2U);
    const json none = {{"name", "gate"}, {"forth", json::object()}, {"back", json::object()}};
    ASSERT_EQ(found[0]["lines"].size(), 3U);
    EXPECT_EQ(found[0]["lines"][0], none);
    EXPECT_EQ(found[1]["lines"][0]["forth"], (json{{"thing 1", 1}}));
    EXPECT_EQ(found[1]["lines"][0]["back"], json::object());
    EXPECT_EQ(found[1]["lines"][1]["back"], (json{{"thing 1", 1}}));
}

TEST_F(Objects, LinesThatMakeNoSenseAreRejected) {
    for (const char* text : {"gate", "=0,0,1,1", "gate=0,0,1", "gate=0,0,1,2", "gate=0.5,0.5,0.5,0.5"}) {
        const Outcome outcome = run({"--save", "tracks", "--line", text});
        EXPECT_EQ(outcome.status, 2) << text;
        EXPECT_TRUE(outcome.says("--line")) << outcome.err;
    }
    const Outcome outcome = run({"--save", "boxes", "--line", "gate=0,0,1,1"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_TRUE(outcome.says("--save tracks")) << outcome.err;
}

TEST_F(Objects, OfASegmentationModelAreRegionsOfItsClasses) {
    writeSmallModel(path("segments.onnx"));
    const Outcome unnamed = run({"--save", "boxes"}, "segments.onnx");
    EXPECT_EQ(unnamed.status, 2);
    EXPECT_TRUE(unnamed.says("--classes")) << unnamed.err;
    const Outcome outcome = run({"--save", "boxes,tracks,overlay", "--classes", "0,1,2"}, "segments.onnx");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    for (const json& line : lines(path("out/detections.jsonl")))
        EXPECT_GT(line["boxes"].size(), 0U);
}

TEST_F(Objects, GiveAReasonIfTheyCannotBeWritten) {
    const auto expect = [&](int status, const std::vector<std::string>& more, const std::string& model,
                            const std::string& word) {
        const Outcome outcome = run(more, model);
        EXPECT_EQ(outcome.status, status) << outcome.err;
        EXPECT_TRUE(outcome.says(word)) << outcome.err;
    };
    SmallModel features;
    features.features = true;
    writeSmallModel(path("features.onnx"), features);
    expect(2, {"--save", "labels"}, "detector.onnx", "gives boxes");
    expect(2, {"--threshold", "2"}, "detector.onnx", "expected 0 to 1");
    expect(2, {"--window", "16x16"}, "detector.onnx", "--window");
    expect(2, {"--save", "boxes", "--classes", "0"}, "features.onnx", "neither boxes nor labels");
    for (const auto& [metadata, word] : std::map<std::string, std::string>{
             {R"({"boxes": "none", "scores": "scores"})", "names the output \"none\""},
             {R"({"boxes": "scores", "scores": "dets"})", "four values"},
             {R"({"boxes": "dets"})", "mpm.detections"},
             {R"({"boxes": "dets", "scores": "scores", "masks": "scores"})", "\"scores\""}}) {
        SmallModel lie;
        lie.boxes = 2;
        lie.detections = metadata;
        writeSmallModel(path("lie.onnx"), lie);
        expect(3, {}, "lie.onnx", word);
    }
}

}  // namespace
}  // namespace mpm::test

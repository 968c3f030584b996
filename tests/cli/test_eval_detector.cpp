// `mpm eval --dataset coco` with a model, on a folder in COCO's format.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// There are five images of 300x200. The model finds three boxes with x of 10..90, 110..190 and 210..290, and
/// y of 40..160. Their classes are 0, 1 and 2, with falling scores.
class EvalDetector : public ::testing::Test {
protected:
    EvalDetector() {
        SmallModel detector;
        detector.boxes = 3;
        detector.masks = true;
        writeSmallModel(path("detector.onnx"), detector);
        fs::create_directory(path("images"));
        m_truth = {{"images", json::array()}, {"annotations", json::array()}, {"categories", json::array()}};
        for (int c = 0; c < 3; ++c)
            m_truth["categories"].push_back({{"id", 10 + c}, {"name", "thing " + std::to_string(c)}});
        for (int i = 1; i <= 5; ++i) {
            const std::string name = std::to_string(i) + ".png";
            cv::imwrite(path("images/" + name), testImage(i, {300, 200}));
            m_truth["images"].push_back({{"id", i}, {"file_name", name}, {"width", 300}, {"height", 200}});
            addTruth(i, 10, {10, 40, 80, 120});
            addTruth(i, 11, {double(110 + 4 * i), 40, 80, 120});
        }
        write();
    }
    void addTruth(int image, int category, const std::vector<double>& box) {
        const double right = box[0] + box[2], bottom = box[1] + box[3];
        m_truth["annotations"].push_back(
            {{"id", m_truth["annotations"].size() + 1},
             {"image_id", image},
             {"category_id", category},
             {"bbox", box},
             {"area", box[2] * box[3]},
             {"iscrowd", 0},
             {"segmentation", {{box[0], box[1], right, box[1], right, bottom, box[0], bottom}}}});
    }
    void write() { std::ofstream(path("truth.json")) << m_truth; }
    std::string path(const std::string& name) { return m_folder / name; }
    Outcome eval(const std::vector<std::string>& more) {
        std::vector<std::string> words = {
            "eval",         path("detector.onnx"), "--dataset",        "coco",   "--root",
            path("images"), "--annotations",       path("truth.json"), "--json", path("out.json")};
        words.insert(words.end(), more.begin(), more.end());
        return mpmProgram(words);
    }
    json report(const std::string& name = "out.json") {
        std::ifstream file(path(name));
        return json::parse(file);
    }
    /// Evaluates the saved detections without the model, and expects the same scores.
    void expectSameScores(const std::string& iou) {
        const Outcome outcome =
            mpmProgram({"eval", "--dataset", "coco", "--annotations", path("truth.json"), "--results",
                        path("found.json"), "--iou", iou, "--json", path("scored.json")});
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        const json scored = report("scored.json"), whole = report();
        for (const auto& [name, value] : scored["stats"].items())
            EXPECT_NEAR(whole["results"][0]["stats"][name], value, 1e-12) << name;
    }

    TempFolder m_folder;
    json m_truth;
};

TEST_F(EvalDetector, HasTheFiguresOfItsResultsFile) {
    const Outcome outcome = eval({"--compare", "none,mpm:2+5", "--save-detections", path("found.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("AP50"), std::string::npos);
    const json rows = report()["results"];
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0]["method"], "none");
    EXPECT_EQ(rows[1]["schedule"], (std::vector<int>{2, 5}));
    EXPECT_EQ(rows[0]["images"], 5);
    EXPECT_GT(rows[0]["gflops"], rows[1]["gflops"]);
    EXPECT_NEAR(rows[0]["categories"][0]["AP"], 1, 1e-9);
    EXPECT_LT(rows[0]["categories"][1]["AP"], 1);
    EXPECT_GT(rows[0]["categories"][1]["AP"], 0);
    EXPECT_EQ(rows[0]["categories"][2]["AP"], -1);
    EXPECT_EQ(rows[0]["stats"], rows[1]["stats"]);  // this model's boxes do not depend on tokens
    expectSameScores("bbox");
}

TEST_F(EvalDetector, ReportsThePrecisionThatRan) {
    ASSERT_EQ(eval({"--precision", "auto,i8"}).status, 0);
    const json rows = report()["results"];
    EXPECT_TRUE(rows[0]["precision"] == "f32" || rows[0]["precision"] == "bf16") << rows[0]["precision"];
    EXPECT_EQ(rows[1]["precision"], "i8");
}

TEST_F(EvalDetector, KeepsTheDetectionsOfAllImagesOrNone) {
    ASSERT_EQ(eval({"--counts", path("counts.jsonl")}).status, 0);
    const Outcome outcome = eval({"--counts", path("counts.jsonl"), "--save-detections", path("found.json")});
    EXPECT_NE(outcome.status, 0);
    EXPECT_NE(outcome.err.find("detections were not kept"), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(path("found.json")));
}

TEST_F(EvalDetector, CountsOfNamelessCategoriesAreRejected) {
    std::ofstream(path("counts.jsonl")) << R"({"mpm_detection_counts":1,"shard":[1,1],"images":0,)"
                                        << R"("settings":[{}],"categories":[{"id":1}]})" << '\n';
    const Outcome outcome = mpmProgram({"eval", "--join", path("counts.jsonl")});
    EXPECT_EQ(outcome.status, 3) << outcome.err;
}

TEST_F(EvalDetector, ComparesMasks) {
    const Outcome outcome = eval({"--iou", "segm", "--save-detections", path("found.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    // Masks are the left half of the image: they cover the first box, but only half of the second.
    EXPECT_NEAR(report()["results"][0]["categories"][0]["AP"], 1, 1e-9);
    EXPECT_LT(report()["results"][0]["categories"][1]["AP"], .2);
    const json found = report("found.json");
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0]["segmentation"]["size"], json({200, 300}));
    EXPECT_TRUE(found[0]["segmentation"]["counts"].is_string());
    EXPECT_FALSE(found[0].contains("bbox")) << "its area would replace that of the mask";
    expectSameScores("segm");
}

TEST_F(EvalDetector, SweepsHaveARowForEachSchedule) {
    ASSERT_EQ(eval({"--compare", "none,singles,pairs", "--limit", "1"}).status, 0);
    const json rows = report()["results"];
    ASSERT_EQ(rows.size(), 1U + 6 + 15);
    EXPECT_EQ(rows[1]["parameters"], "mpm:0");
    EXPECT_EQ(rows[6]["schedule"], std::vector<int>{5});
    EXPECT_EQ(rows[21]["schedule"], (std::vector<int>{4, 5}));
}

TEST_F(EvalDetector, FramesOfAClipAreInTheOrderOfTheirNames) {
    for (json& image : m_truth["images"])
        image["id"] = 6 - image["id"].get<int>();
    write();
    const auto order = [&](const std::string& method, const std::string& limit) {
        const Outcome outcome =
            eval({"--compare", method, "--limit", limit, "--save-detections", path("found.json")});
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        std::vector<int> ids;
        for (const json& one : report("found.json"))
            if (ids.empty() || ids.back() != one["image_id"]) ids.push_back(one["image_id"]);
        return ids;
    };
    EXPECT_EQ(order("mpm", "5"), (std::vector<int>{1, 2, 3, 4, 5}));
    EXPECT_EQ(order("reuse", "5"), (std::vector<int>{5, 4, 3, 2, 1}));
    EXPECT_EQ(order("mpm,reuse", "2"), (std::vector<int>{5, 4}));
}

TEST_F(EvalDetector, ShardsAddExactly) {
    const std::vector<std::string> compare = {"--compare", "none,mpm"};
    ASSERT_EQ(eval(compare).status, 0);
    const json whole = report()["results"];
    for (const std::string shard : {"1", "2"}) {
        std::vector<std::string> words = {"--shard", shard + "/2", "--counts", path(shard + ".counts")};
        words.insert(words.end(), compare.begin(), compare.end());
        ASSERT_EQ(eval(words).status, 0);
        ASSERT_EQ(eval(words).status, 0);  // continues the counts of a complete run
    }
    const Outcome outcome =
        mpmProgram({"eval", "--join", path("2.counts"), path("1.counts"), "--json", path("joined.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json joined = report("joined.json")["results"];
    for (size_t row = 0; row < 2; ++row)
        for (const char* key : {"stats", "categories", "tokens", "gflops", "images"})
            EXPECT_EQ(joined[row][key], whole[row][key]) << key;
    for (const char* option : {"--csv", "--plots"})
        EXPECT_EQ(
            mpmProgram({"eval", "--join", path("2.counts"), path("1.counts"), option, path("no")}).status, 2)
            << option;
    EXPECT_EQ(eval({"--shard", "6/6", "--counts", path("6.counts")}).status, 0) << "five images";
    const Outcome missing = mpmProgram({"eval", "--join", path("2.counts")});
    EXPECT_EQ(missing.status, 3);
    EXPECT_TRUE(missing.says("shard 1 of 2 is missing")) << missing.err;
    std::ofstream(path("2.counts"), std::ios::app) << "{}\n";
    EXPECT_EQ(mpmProgram({"eval", "--join", path("1.counts"), path("2.counts")}).status, 3);
}

TEST_F(EvalDetector, NamesWhatDoesNotFit) {
    const auto expect = [&](int status, const std::vector<std::string>& more, const std::string& word) {
        const Outcome outcome = eval(more);
        EXPECT_EQ(outcome.status, status) << outcome.err;
        EXPECT_TRUE(outcome.says(word)) << outcome.err;
    };
    expect(2, {"--plots", path("plots")}, "--dataset coco: takes no");
    m_truth["images"].push_back({{"id", 6}, {"file_name", "../truth.json"}});
    m_truth["images"].push_back({{"id", 7}, {"file_name", "none.png"}});
    write();
    expect(1, {}, "2 images could not be used");
    EXPECT_EQ(report()["results"][0]["images"], 5);
    EXPECT_EQ(report()["left_out"].size(), 2U);
    for (json& category : m_truth["categories"])
        category["name"] = "other";
    write();
    expect(3, {}, "no category of");
    SmallModel segments;
    writeSmallModel(path("detector.onnx"), segments);
    expect(3, {}, "gives no boxes");
}

}  // namespace
}  // namespace mpm::test

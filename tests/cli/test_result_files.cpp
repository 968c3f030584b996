// `mpm eval --results` evaluates files of detections and tracks, without a model.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "cli/process.hpp"
#include "support/shared.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ResultFiles : public ::testing::Test {
protected:
    std::string write(const std::string& name, const std::string& text) {
        fs::create_directories(fs::path(m_folder / name).parent_path());
        std::ofstream(m_folder / name) << text;
        return m_folder / name;
    }
    static json read(const std::string& path) {
        std::ifstream file(path);
        return json::parse(file);
    }

    TempFolder m_folder;
};

constexpr const char* kAnnotations = R"({"images": [{"id": 1, "width": 100, "height": 100}],
  "categories": [{"id": 5, "name": "cat"}],
  "annotations": [{"id": 1, "image_id": 1, "category_id": 5, "bbox": [0, 0, 40, 40], "area": 1600, "iscrowd": 0,
                   "segmentation": [[0, 0, 40, 0, 40, 40, 0, 40]]}]})";
constexpr const char* kDetections =
    R"([{"image_id": 1, "category_id": 5, "bbox": [0, 0, 40, 30], "score": 0.9},
  {"image_id": 2, "category_id": 5, "bbox": [0, 0, 40, 30], "score": 0.9}])";

TEST_F(ResultFiles, OfDetectionsAreScored) {
    const std::string truth = write("truth.json", kAnnotations), found = write("found.json", kDetections);
    for (const std::string iou : {"bbox", "segm"}) {
        const Outcome outcome = mpmProgram({"eval", "--dataset", "coco", "--annotations", truth, "--results",
                                            found, "--iou", iou, "--json", m_folder / "out.json"});
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_TRUE(outcome.says("1 detections are of images")) << outcome.err;
        EXPECT_NE(outcome.out.find("AP50"), std::string::npos);
        const json report = read(m_folder / "out.json");
        EXPECT_EQ(report["iou_type"], iou);
        EXPECT_NEAR(report["stats"]["AP"], .6, 1e-12);  // correct at 6 of 10 thresholds: 0.50 to 0.75
        EXPECT_NEAR(report["stats"]["AP75"], 1, 1e-12);
        EXPECT_EQ(report["stats"]["AP_small"], -1);
        EXPECT_EQ(report["categories"][0]["name"], "cat");
        EXPECT_NEAR(report["categories"][0]["AR_100"], .6, 1e-12);
    }
}

TEST_F(ResultFiles, OfTracksAreScoredAloneAndTogether) {
    const std::string line = "1,1,0,0,10,10,1,1,1\n";
    const std::string truth = write("gt/a.txt", line),
                      tracks = write("tracks/a.txt", "1,7,0,0,10,10,0.9,-1,-1,-1\n");
    const std::string json = m_folder / "out.json";
    Outcome outcome = mpmProgram(
        {"eval", "--dataset", "mot", "--truth", truth, "--results", tracks, "--frames", "4", "--json", json});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(read(json)["figures"]["HOTA"], 1);
    EXPECT_EQ(read(json)["frames"], 4);
    EXPECT_EQ(read(json)["counts"]["IDTP"], 1);
    write("gt/b.txt", line);
    const std::vector<std::string> folders = {
        "eval",      "--dataset",         "mot",    "--truth", m_folder / "gt",
        "--results", m_folder / "tracks", "--json", json};
    outcome = mpmProgram(folders);
    EXPECT_EQ(outcome.status, 3);
    EXPECT_TRUE(outcome.says("has no b.txt")) << outcome.err;
    write("tracks/b.txt", "");
    outcome = mpmProgram(folders);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("combined"), std::string::npos);
    EXPECT_EQ(read(json)["combined"]["figures"]["MOTA"], .5);
    EXPECT_EQ(read(json)["results"][1]["name"], "b");
    EXPECT_EQ(read(json)["results"][2]["figures"]["IDR"], .5);
}

TEST_F(ResultFiles, HaveTheFiguresOfThePublishedCode) {
    const std::string folder = sharedDir() + "/fixtures/";
    if (!fs::is_directory(folder + "coco")) GTEST_SKIP() << folder << " is not there";
    const std::string path = m_folder / "out.json";
    const Outcome coco =
        mpmProgram({"eval", "--dataset", "coco", "--annotations", folder + "coco/masks.annotations.json",
                    "--results", folder + "coco/masks.detections.json", "--iou", "segm", "--json", path});
    ASSERT_EQ(coco.status, 0) << coco.err;
    const json stats = read(path)["stats"], wanted = read(folder + "coco/masks.expected.json")["stats"];
    for (const auto& [name, figure] : wanted.items())
        EXPECT_NEAR(stats[name], figure, 1e-12) << name;
    const Outcome mot = mpmProgram({"eval", "--dataset", "mot", "--truth", folder + "mot/gaps.gt.txt",
                                    "--results", folder + "mot/gaps.tracks.txt", "--json", path});
    ASSERT_EQ(mot.status, 0) << mot.err;
    const json report = read(path), expected = read(folder + "mot/gaps.expected.json");
    for (const auto& [name, figure] : expected["figures"].items())
        EXPECT_NEAR(report["figures"][name], figure, 1e-12) << name;
    for (const auto& [name, curve] : expected["per_alpha"].items())
        for (size_t t = 0; t < curve.size(); ++t)
            EXPECT_NEAR(report["per_alpha"].at(name).at(t), curve[t], 1e-12) << name << " " << t;
    EXPECT_EQ(report["counts"], expected["counts"]);
}

TEST_F(ResultFiles, GiveAReasonIfTheyCannotBeScored) {
    const std::string truth = write("truth.json", kAnnotations), found = write("found.json", kDetections);
    const std::string broken = write("broken.json", R"([{"image_id": 1, "category_id": 5, "score": 0.9}])");
    const std::string text = write("a.txt", "1,1,0,0,10,10"), late = write("b.txt", "9,1,0,0,10,10");
    const auto expect = [&](int status, std::vector<std::string> arguments, const std::string& word) {
        arguments.insert(arguments.begin(), "eval");
        const Outcome outcome = mpmProgram(arguments);
        EXPECT_EQ(outcome.status, status) << word << ": " << outcome.err;
        EXPECT_TRUE(outcome.says(word)) << outcome.err;
        EXPECT_EQ(outcome.lines(), 1) << outcome.err;
        EXPECT_EQ(outcome.out, "");
    };
    expect(2, {"--dataset", "coco", "--results", found}, "--annotations is required");
    expect(2, {"--dataset", "mot", "--truth", text}, "--results is required");
    expect(2, {"--dataset", "mot", "--results", text}, "--truth is required");
    expect(2, {"--dataset", "camvid", "--results", text}, "needs --dataset coco or mot");
    for (const std::string option : {"--csv", "--plots", "--counts", "--save-labels"})
        expect(2, {"--dataset", "mot", "--truth", text, "--results", text, option, m_folder / "made"},
               "takes no --csv");
    EXPECT_FALSE(fs::exists(m_folder / "made"));
    expect(2, {"default", "--dataset", "coco", "--annotations", truth, "--results", found},
           "without a model");
    expect(2, {"--dataset", "coco", "--annotations", truth, "--results", found, "--iou", "box"},
           "write bbox or segm");
    expect(2, {"--dataset", "mot", "--truth", m_folder.path(), "--results", text},
           "two files or two folders");
    expect(3, {"--dataset", "coco", "--annotations", truth, "--results", broken}, "has no \"bbox\"");
    expect(3, {"--dataset", "coco", "--annotations", found, "--results", found},
           "is no JSON object with images");
    expect(3, {"--dataset", "coco", "--annotations", m_folder / "none.json", "--results", found},
           "cannot be opened");
    expect(3, {"--dataset", "mot", "--truth", text, "--results", truth}, "truth.json, line 1");
    expect(3, {"--dataset", "mot", "--truth", text, "--results", late, "--frames", "8"}, "names frame 9");
}

}  // namespace
}  // namespace mpm::test

// Compares the figures of `mpm eval` with a second, simple implementation that reads the files of
// --save-labels.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "cli/eval_set.hpp"
#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

struct Scores {
    double miou = 0, macc = 0, aacc = 0;
    std::vector<double> iou;
};

/// Computes the scores class by class from sets of pixels: slow, but simple.
Scores plainScores(const std::vector<std::pair<cv::Mat, cv::Mat>>& pairs, int classes, int ignored) {
    Scores scores;
    double right = 0, all = 0, present = 0, existing = 0;
    for (int id = 0; id < classes; ++id) {
        double both = 0, either = 0, of = 0;
        for (const auto& [labels, found] : pairs) {
            const cv::Mat counts = labels != ignored;
            const cv::Mat is = (labels == id) & counts, said = (found == id) & counts;
            both += cv::countNonZero(is & said);
            either += cv::countNonZero(is | said);
            of += cv::countNonZero(is);
        }
        scores.iou.push_back(either > 0 ? both / either : NAN);
        if (either > 0) scores.miou += both / either, ++present;
        if (of > 0) scores.macc += both / of, ++existing;
        right += both;
        all += of;
    }
    scores.miou /= present;
    scores.macc /= existing;
    scores.aacc = right / all;
    return scores;
}

void expectScores(const nlohmann::json& row, const Scores& scores) {
    EXPECT_NEAR(row["miou"], scores.miou, 1e-9);
    EXPECT_NEAR(row["macc"], scores.macc, 1e-9);
    EXPECT_NEAR(row["aacc"], scores.aacc, 1e-9);
    ASSERT_EQ(row["iou"].size(), scores.iou.size());
    for (size_t id = 0; id < scores.iou.size(); ++id) {
        if (std::isnan(scores.iou[id]))
            EXPECT_TRUE(row["iou"][id].is_null());
        else
            EXPECT_NEAR(row["iou"][id], scores.iou[id], 1e-9);
    }
}

class Eval : public ::testing::Test {
protected:
    /// Writes an image and its labels to these paths in the data set.
    void add(const std::string& image, const std::string& labels, const cv::Mat& ids, int seed) {
        for (const std::string& name : {image, labels})
            fs::create_directories(fs::path(m_folder / name).parent_path());
        cv::imwrite(m_folder / image, testImage(seed, ids.size()));
        cv::imwrite(m_folder / labels, ids);
    }

    void model(int classes, int batch = 1) {
        SmallModel small;
        small.classes = classes, small.batch = batch;
        writeSmallModel(m_folder / "model.onnx", small);
    }

    Outcome eval(const std::string& dataset, const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words = {
            "eval",   m_folder / "model.onnx", "--dataset",     dataset,           "--root", m_folder.path(),
            "--json", m_folder / "e.json",     "--save-labels", m_folder / "found"};
        words.insert(words.end(), more.begin(), more.end());
        return mpmProgram(words);
    }

    cv::Mat found(const std::string& stem) const {
        return cv::imread(m_folder / ("found/" + stem + ".png"), cv::IMREAD_UNCHANGED);
    }

    TempFolder m_folder;
};

TEST_F(Eval, FolderEqualsThePlainCount) {
    model(3);
    std::ofstream(m_folder / "classes.json")
        << R"([{"name":"a","color":[1,2,3]},{"name":"b","color":[4,5,6]},{"name":"c","color":[7,8,9]}])";
    std::vector<std::pair<cv::Mat, cv::Mat>> pairs;
    std::map<std::string, cv::Mat> labels;
    int seed = 0;
    for (const cv::Size size :
         {cv::Size(48, 32), cv::Size(96, 64), cv::Size(70, 31), cv::Size(33, 90), cv::Size(48, 33)}) {
        const std::string stem = "p" + std::to_string(seed);
        labels[stem] = blobs(seed, size, 3, 255);
        add("val/images/" + stem + ".png", "val/labels/" + stem + ".png", labels[stem], seed);
        ++seed;
    }
    const Outcome outcome = eval("folder");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    for (const auto& [stem, ids] : labels) {
        ASSERT_EQ(found(stem).size(), ids.size()) << stem;
        pairs.emplace_back(ids, found(stem));
    }
    const auto json = readJson(m_folder / "e.json");
    EXPECT_EQ(json["results"][0]["images"], 5);
    EXPECT_EQ(json["results"][0]["method"], "mpm");
    expectScores(json["results"][0], plainScores(pairs, 3, 255));
}

TEST_F(Eval, AModelWithoutClassesHasNoScore) {
    SmallModel features;
    features.features = true, features.classes = 2;
    writeSmallModel(m_folder / "model.onnx", features);
    std::ofstream(m_folder / "classes.json")
        << R"([{"name":"a","color":[1,2,3]},{"name":"b","color":[4,5,6]}])";
    add("val/images/p.png", "val/labels/p.png", blobs(1, {48, 32}, 2, 255), 1);
    const Outcome outcome = eval("folder");
    EXPECT_EQ(outcome.status, 3) << outcome.err;
    EXPECT_TRUE(outcome.says("no classes")) << outcome.err;
    EXPECT_FALSE(fs::exists(m_folder / "e.json"));
}

TEST_F(Eval, ABadImageIsNamedCountedAndLeftOut) {
    model(3);
    std::ofstream(m_folder / "classes.json")
        << R"([{"name":"a","color":[1,2,3]},{"name":"b","color":[4,5,6]},{"name":"c","color":[7,8,9]}])";
    for (int i = 0; i < 3; ++i) {
        const std::string stem = "p" + std::to_string(i);
        add("val/images/" + stem + ".png", "val/labels/" + stem + ".png", blobs(i, {48, 32}, 3, 255), i);
    }
    std::ofstream(m_folder / "val/images/p1.png") << "damaged";
    const Outcome outcome = eval("folder");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.says("p1.png"));
    const auto json = readJson(m_folder / "e.json");
    EXPECT_EQ(json["results"][0]["images"], 2);
    EXPECT_EQ(json["left_out"], nlohmann::json({"p1"}));
}

TEST_F(Eval, BatchesGiveTheSameFigures) {
    for (int i = 0; i < 5; ++i) {
        const std::string stem = "p" + std::to_string(i);
        add("val/images/" + stem + ".png", "val/labels/" + stem + ".png", blobs(i, {60, 40}, 11, 11), i);
    }
    model(11);
    ASSERT_EQ(eval("camvid", {"--compare", "none,mpm"}).status, 0);
    EXPECT_TRUE(fs::exists(m_folder / "found/none/p0.png"));
    EXPECT_TRUE(fs::exists(m_folder / "found/mpm/p0.png"));
    const auto one = readJson(m_folder / "e.json");
    model(11, 2);
    const Outcome outcome = eval("camvid", {"--compare", "none,mpm", "--batch", "2"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto two = readJson(m_folder / "e.json");
    for (int row = 0; row < 2; ++row)
        for (const char* key : {"miou", "tokens", "confusion", "per_picture", "regions", "joins"})
            EXPECT_EQ(one["results"][row][key], two["results"][row][key]) << key;
}

TEST_F(Eval, NightChangesTheImagesTheSameWayEveryTime) {
    model(11);
    for (int i = 0; i < 2; ++i) {
        const std::string stem = "p" + std::to_string(i);
        add("val/images/" + stem + ".png", "val/labels/" + stem + ".png", blobs(i, {60, 40}, 11, 11), i);
    }
    ASSERT_EQ(eval("camvid", {"--night"}).status, 0);
    const auto first = readJson(m_folder / "e.json");
    ASSERT_EQ(eval("camvid", {"--night", "0.35,250,0.01"}).status, 0);
    const auto second = readJson(m_folder / "e.json");
    EXPECT_EQ(first["results"][0]["miou"], second["results"][0]["miou"]);
    EXPECT_EQ(first["night"], nlohmann::json({0.35, 250.0, 0.01}));
}

// In ADE20K's files, 1..150 are classes and 0 is ignored, so the program subtracts 1 from labels.
TEST_F(Eval, Ade20kReducesTheZeroLabel) {
    model(150);
    const cv::Mat ids = blobs(3, {60, 40}, 151, 0);
    add("images/validation/a.jpg", "annotations/validation/a.png", ids, 3);
    ASSERT_EQ(eval("ade20k").status, 0);
    cv::Mat reduced(ids.size(), CV_8U);
    for (int i = 0; i < static_cast<int>(ids.total()); ++i)
        reduced.data[i] = static_cast<uchar>(ids.data[i] == 0 ? 255 : ids.data[i] - 1);
    expectScores(readJson(m_folder / "e.json")["results"][0], plainScores({{reduced, found("a")}}, 150, 255));
}

TEST_F(Eval, CityscapesMapsItsLabelIds) {
    model(19);
    const std::map<int, int> trained = {{7, 0},   {8, 1},   {11, 2},  {12, 3},  {13, 4},  {17, 5},  {19, 6},
                                        {20, 7},  {21, 8},  {22, 9},  {23, 10}, {24, 11}, {25, 12}, {26, 13},
                                        {27, 14}, {28, 15}, {31, 16}, {32, 17}, {33, 18}};
    const cv::Mat ids = blobs(5, {64, 32}, 34, 0);
    add("leftImg8bit/val/ulm/ulm_0_leftImg8bit.png", "gtFine/val/ulm/ulm_0_gtFine_labelIds.png", ids, 5);
    ASSERT_EQ(eval("cityscapes").status, 0);
    cv::Mat mapped(ids.size(), CV_8U, cv::Scalar(255));
    for (int i = 0; i < static_cast<int>(ids.total()); ++i)
        if (const auto it = trained.find(ids.data[i]); it != trained.end())
            mapped.data[i] = static_cast<uchar>(it->second);
    expectScores(readJson(m_folder / "e.json")["results"][0],
                 plainScores({{mapped, found("ulm_0")}}, 19, 255));
}

TEST_F(Eval, PascalContextReadsItsList) {
    model(60);
    const cv::Mat ids = blobs(6, {64, 48}, 60, 255);
    add("JPEGImages/x.jpg", "SegmentationClassContext/x.png", ids, 6);
    add("JPEGImages/unlisted.jpg", "SegmentationClassContext/unlisted.png", ids, 7);
    fs::create_directories(m_folder / "ImageSets/SegmentationContext");
    std::ofstream(m_folder / "ImageSets/SegmentationContext/val.txt") << "x\n";
    ASSERT_EQ(eval("pascal-context").status, 0);
    const auto row = readJson(m_folder / "e.json")["results"][0];
    EXPECT_EQ(row["images"], 1);
    expectScores(row, plainScores({{ids, found("x")}}, 60, 255));
}

// For a ViT-Tiny/16 at 512x512 on ADE20K, the report shows the paper's figures beside the measured figures.
// The model may have random weights, because the test checks only the paper's figures.
TEST_F(Eval, ThePapersFiguresStandBesideTheMeasuredOnes) {
    add("images/validation/a.jpg", "annotations/validation/a.png", blobs(3, {512, 512}, 8, 0), 3);
    const Outcome outcome =
        mpmProgram({"eval", "random", "--dataset", "ade20k", "--root", m_folder.path(), "--json",
                    m_folder / "e.json", "--compare", "none,mpm:2+5,mpm:5,tome:r=40"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("paper: mIoU"), std::string::npos);
    const auto results = readJson(m_folder / "e.json")["results"];
    EXPECT_EQ(results[0]["paper"],
              nlohmann::json({{"miou", 0.381}, {"gflops", 25.0}, {"images_per_second", 660.0}}));
    EXPECT_EQ(results[1]["paper"]["gflops"], 17.6);
    EXPECT_FALSE(results[2].contains("paper")) << "the paper has no {5}";
    EXPECT_EQ(results[3]["paper"]["images_per_second"], 751.0);
}

// With reuse, images in the order of their names are frames of a camera. Each window is a separate stream.
TEST_F(Eval, ReuseSeesTheImagesAsFrames) {
    model(11);
    for (int i = 0; i < 6; ++i) {
        const std::string stem = "f" + std::to_string(i);
        add("val/images/" + stem + ".png", "val/labels/" + stem + ".png", blobs(1, {60, 32}, 11, 11), 1);
    }
    const Outcome outcome = eval("camvid", {"--compare", "none,reuse", "--reuse=refresh=4,full=0.5"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("With reuse:refresh=4,full=0.5 a frame takes"), std::string::npos)
        << outcome.out;
    const auto results = readJson(m_folder / "e.json")["results"];
    EXPECT_TRUE(results[0]["reuse"].is_null());
    EXPECT_TRUE(results[0]["agreement"].is_null());
    const auto& reuse = results[1];
    EXPECT_EQ(reuse["method"], "reuse");
    EXPECT_EQ(reuse["parameters"], "reuse:refresh=4,full=0.5");
    EXPECT_DOUBLE_EQ(reuse["reuse"]["full"], 1.0 / 6);
    EXPECT_DOUBLE_EQ(reuse["reuse"]["suspended"], 0);
    // The first frame computes all 24 tokens. The other frames are equal to the first frame, so only
    // `refresh` computes tokens in them: each token once.
    EXPECT_DOUBLE_EQ(reuse["reuse"]["recomputed"], (1.0 + 1.0) / 6);
    EXPECT_EQ(reuse["agreement"], nlohmann::json({{"mean", 1.0}, {"worst", 1.0}}));
    EXPECT_EQ(reuse["miou"], results[0]["miou"]);
    EXPECT_LT(reuse["gflops"], results[0]["gflops"]);
    EXPECT_EQ(reuse["per_picture"]["operations"][0], results[0]["per_picture"]["operations"][0]);
}

TEST_F(Eval, ReuseIsForFramesOneByOne) {
    model(11, 2);
    add("val/images/a.png", "val/labels/a.png", blobs(1, {48, 32}, 11, 11), 1);
    const Outcome batch = eval("camvid", {"--compare", "none,reuse", "--batch", "2"});
    EXPECT_EQ(batch.status, 2) << batch.err;
    EXPECT_TRUE(batch.says("batch 1"));
    const Outcome shard = eval("camvid", {"--reuse", "--shard", "1/2"});
    EXPECT_EQ(shard.status, 2) << shard.err;
    EXPECT_TRUE(shard.says("--shard"));
    EXPECT_EQ(eval("camvid", {"--reuse=refresh=-1"}).status, 2);
}

TEST_F(Eval, ClassesMustMatch) {
    model(3);
    add("val/images/a.png", "val/labels/a.png", blobs(1, {48, 32}, 11, 11), 1);
    const Outcome outcome = eval("camvid");
    EXPECT_EQ(outcome.status, 3);
    EXPECT_TRUE(outcome.says("11"));
}

}  // namespace
}  // namespace mpm::test

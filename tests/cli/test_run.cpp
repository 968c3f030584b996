#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

class Run : public ::testing::Test {
protected:
    void SetUp() override {
        writeSmallModel(m_folder / "model.onnx");
        fs::create_directory(m_folder / "in");
        for (int i = 0; i < 3; ++i)
            cv::imwrite(m_folder / ("in/p" + std::to_string(i) + ".png"), testImage(i));
    }

    Outcome run(std::vector<std::string> words) const {
        words.insert(words.begin(), {"run", m_folder / "model.onnx"});
        return mpmProgram(words);
    }

    std::string clip(int frames) const {
        const std::string path = m_folder / "clip.avi";
        cv::VideoWriter writer(path, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 10, {96, 64});
        for (int i = 0; i < frames; ++i)
            writer << testImage(i);
        return path;
    }

    std::set<std::string> files(const std::string& folder) const {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(m_folder / folder))
            names.insert(entry.path().filename());
        return names;
    }

    static std::vector<std::vector<std::string>> table(const std::string& text) {
        std::vector<std::vector<std::string>> rows;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            rows.emplace_back();
            std::istringstream cells(line);
            for (std::string cell; std::getline(cells, cell, ',');)
                rows.back().push_back(cell);
        }
        return rows;
    }

    static std::string textOf(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    TempFolder m_folder;
};

// For a backbone without a head, the program writes no labels, but an overlay of principal components, maps
// and counts.
TEST_F(Run, AModelWithoutClassesIsShownByItsFeatures) {
    SmallModel features;
    features.features = true;
    features.metadata = false;
    writeSmallModel(m_folder / "backbone.onnx", features);
    const std::string model = m_folder / "backbone.onnx";
    const Outcome outcome = mpmProgram(
        {"run", model, m_folder / "in", "--size", "32x48", "--blocks", "2,5", "--out", m_folder / "out"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(files("out"),
              (std::set<std::string>{"p0.map.png", "p0.overlay.png", "p1.map.png", "p1.overlay.png",
                                     "p2.map.png", "p2.overlay.png", "tokens.csv"}));
    const auto rows = table(textOf(m_folder / "out/tokens.csv"));
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0].back(), "dropped");  // the table has no shares of classes
    const cv::Mat overlay = cv::imread(m_folder / "out/p0.overlay.png"),
                  image = cv::imread(m_folder / "in/p0.png");
    ASSERT_EQ(overlay.size(), image.size());
    EXPECT_GT(cv::norm(overlay, image, cv::NORM_L1) / double(image.total() * 3), 10);
    const Outcome labels = mpmProgram(
        {"run", model, m_folder / "in", "--size", "32x48", "--out", m_folder / "no", "--save", "labels"});
    EXPECT_EQ(labels.status, 2);
    EXPECT_TRUE(labels.says("principal components")) << labels.err;
    EXPECT_TRUE(files("no").empty());
}

// Neither depth values nor masks of queries may be shown as classes.
TEST_F(Run, DepthAndMasksOfQueriesAreNoLabels) {
    SmallModel depth, queries;
    depth.depth = true;
    queries.queries = 5;
    for (const SmallModel& made : {depth, queries}) {
        const std::string out = made.depth ? "depth" : "queries";
        writeSmallModel(m_folder / "model.onnx", made);
        const Outcome outcome = run({m_folder / "in/p0.png", "--out", m_folder / out});
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_EQ(files(out), (std::set<std::string>{"p0.map.png", "p0.overlay.png", "tokens.csv"}));
        EXPECT_EQ(outcome.says("--output labels"), !made.depth) << outcome.err;
        EXPECT_EQ(run({m_folder / "in/p0.png", "--out", m_folder / "no", "--save", "labels"}).status, 2);
    }
    queries.labels = true;
    writeSmallModel(m_folder / "model.onnx", queries);
    ASSERT_EQ(run({m_folder / "in/p0.png", "--out", m_folder / "labels"}).status, 0);
    EXPECT_EQ(files("labels").count("p0.labels.png"), 1u);
}

/// With reuse, all tokens are kept, so the program prints how many are computed, not how many are kept.
TEST_F(Run, ReuseCountsTheTokensComputed) {
    const Outcome outcome =
        run({m_folder / "in/*.png", "--reuse", "--out", m_folder / "out", "--save", "csv,timeline"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("3 frames of 24 tokens, computed "), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("kept"), std::string::npos) << outcome.out;
}

TEST_F(Run, MergeMapsOfEveryStageInThreeColourings) {
    std::vector<cv::Mat> drawn;
    for (const std::string how : {"mean", "size", "distinct"}) {
        const std::string out = m_folder / how;
        ASSERT_EQ(
            run({m_folder / "in/p0.png", "--out", out, "--save", "map,stages", "--map-colours", how}).status,
            0);
        EXPECT_EQ(files(how), (std::set<std::string>{"p0.map.png", "p0.map1.png", "p0.map2.png"}));
        drawn.push_back(cv::imread(out + "/p0.map.png"));
    }
    EXPECT_GT(cv::norm(drawn[0], drawn[1], cv::NORM_INF), 0);
    EXPECT_GT(cv::norm(drawn[1], drawn[2], cv::NORM_INF), 0);
    EXPECT_EQ(run({m_folder / "in/p0.png", "--map-colours", "loud"}).status, 2);
}

TEST_F(Run, WritesTheContractsFiles) {
    const Outcome outcome = run({m_folder / "in", "--out", m_folder / "out"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("3 frames"), std::string::npos);
    EXPECT_EQ(files("out"),
              (std::set<std::string>{"p0.labels.png", "p0.map.png", "p0.overlay.png", "p1.labels.png",
                                     "p1.map.png", "p1.overlay.png", "p2.labels.png", "p2.map.png",
                                     "p2.overlay.png", "tokens.csv"}));
    const cv::Mat labels = cv::imread(m_folder / "out/p0.labels.png", cv::IMREAD_UNCHANGED);
    EXPECT_EQ(labels.type(), CV_8U);
    EXPECT_EQ(labels.size(), cv::Size(96, 64));
    double most = 0;
    cv::minMaxLoc(labels, nullptr, &most);
    EXPECT_LT(most, 3);
    const auto rows = table(textOf(m_folder / "out/tokens.csv"));
    ASSERT_EQ(rows.size(), 4u);
    for (const auto& row : rows)
        EXPECT_EQ(row.size(), rows[0].size());
    EXPECT_EQ(rows[0][0], "name");
    EXPECT_EQ(rows[1][0], "p0");
    EXPECT_EQ(rows[0].back(), "share thing 2");
}

TEST_F(Run, TakesLabelsWithoutAnAxisOfChannels) {
    ASSERT_EQ(run({m_folder / "in", "--out", m_folder / "out"}).status, 0);
    SmallModel model;
    model.labels = true;
    writeSmallModel(m_folder / "model.onnx", model);
    const Outcome outcome = run({m_folder / "in", "--out", m_folder / "plain"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const cv::Mat expected = cv::imread(m_folder / "out/p0.labels.png", cv::IMREAD_UNCHANGED),
                  found = cv::imread(m_folder / "plain/p0.labels.png", cv::IMREAD_UNCHANGED);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_LT(cv::countNonZero(found != expected), 5);  // rounding on a border between two classes
}

TEST_F(Run, SaysThatTheBatchOfAModelIsFixed) {
    SmallModel model;
    model.batch = 2;
    writeSmallModel(m_folder / "model.onnx", model);
    const Outcome outcome = run({m_folder / "in"});
    EXPECT_NE(outcome.status, 0);
    EXPECT_NE(outcome.err.find("cannot run with batch 1"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("--batch 1"), std::string::npos) << outcome.err;
}

TEST_F(Run, WithoutOutTheTableIsTheResult) {
    const Outcome outcome = run({m_folder / "in"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(table(outcome.out).size(), 4u);
    EXPECT_EQ(outcome.err, "");
}

TEST_F(Run, DemoAloneTakesTheShippedModel) {
    const Outcome outcome = mpmProgram({"run", "demo", "--duration", "1"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(table(outcome.out).size(), 2u);
}

TEST_F(Run, BlocksNoneKeepsAllTokens) {
    const auto all = table(run({m_folder / "in", "--blocks", "none"}).out);
    EXPECT_EQ(all[0][6], "tokens_kept");
    EXPECT_EQ(all[1][5], "24");
    EXPECT_EQ(all[1][6], "24");
    const auto merged = table(run({m_folder / "in", "--blocks", "1,3"}).out);
    EXPECT_EQ(merged[0][8], "tokens_kept");
    EXPECT_LT(std::stoi(merged[1][8]), 24);
}

TEST_F(Run, SaveChoosesAndJsonLinesParse) {
    ASSERT_EQ(run({m_folder / "in", "--out", m_folder / "out", "--save", "jsonl,panels,timeline"}).status, 0);
    EXPECT_EQ(files("out"), (std::set<std::string>{"p0.panels.png", "p1.panels.png", "p2.panels.png",
                                                   "timeline.png", "tokens.jsonl"}));
    std::istringstream lines(textOf(m_folder / "out/tokens.jsonl"));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        const auto json = nlohmann::json::parse(line);
        EXPECT_EQ(json["tokens_in"], 24);
        EXPECT_EQ(json["tokens"].size(), 6u);
        double sum = 0;
        for (double share : json["class_shares"])
            sum += share;
        EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_EQ(count, 3);
}

TEST_F(Run, StrideEveryAndDurationThinOut) {
    const std::string video = clip(30);
    EXPECT_EQ(table(run({video}).out).size(), 31u);
    EXPECT_EQ(table(run({video, "--stride", "10"}).out).size(), 4u);
    EXPECT_EQ(table(run({video, "--every", "0.5"}).out).size(), 7u);
    EXPECT_EQ(table(run({video, "--every", "0.25"}).out).size(), 13u) << "late frames delay no others";
    EXPECT_EQ(table(run({video, "--duration", "1"}).out).size(), 11u);
}

TEST_F(Run, ProgressCountsTheFramesThatAreWanted) {
    const std::string video = clip(50);
    const auto said = mpmOnTerminal({"run", m_folder / "model.onnx", video, "--duration", "4"});
    if (!said) GTEST_SKIP() << "no terminal";
    EXPECT_NE(said->find("frame 1 of 40 ..."), std::string::npos) << *said;
    EXPECT_EQ(said->find(" of 50"), std::string::npos) << *said;
}

// With --window, the labels in each window equal the labels of a separate image with the window's pixels. The
// table counts the tokens of all windows.
TEST_F(Run, WindowsSeeALargeImagePieceByPiece) {
    const cv::Mat large = testImage(4, {96, 64});
    cv::imwrite(m_folder / "large.png", large);
    fs::create_directory(m_folder / "pieces");
    for (int i = 0; i < 4; ++i)
        cv::imwrite(m_folder / ("pieces/q" + std::to_string(i) + ".png"),
                    large(cv::Rect(i % 2 * 48, i / 2 * 32, 48, 32)));
    ASSERT_EQ(run({m_folder / "pieces", "--out", m_folder / "one", "--save", "labels,map"}).status, 0);
    EXPECT_EQ(run({m_folder / "large.png", "--window", "33x48"}).status, 2) << "windows of 32x48 leave gaps";
    ASSERT_EQ(run({m_folder / "large.png", "--out", m_folder / "all", "--window", "32x48", "--save",
                   "labels,map,csv,panels"})
                  .status,
              0);
    for (const char* kind : {".labels.png", ".map.png"})
        for (int i = 0; i < 4; ++i) {
            const cv::Mat whole =
                cv::imread(m_folder / ("all/large" + std::string(kind)), cv::IMREAD_UNCHANGED);
            const cv::Mat piece =
                cv::imread(m_folder / ("one/q" + std::to_string(i) + kind), cv::IMREAD_UNCHANGED);
            ASSERT_FALSE(piece.empty());
            EXPECT_EQ(cv::norm(whole(cv::Rect(i % 2 * 48, i / 2 * 32, 48, 32)), piece, cv::NORM_INF), 0)
                << kind << i;
        }
    const auto rows = table(textOf(m_folder / "all/tokens.csv"));
    EXPECT_EQ(rows[1][5], "96");
    EXPECT_LT(std::stoi(rows[1][8]), 96);
    // Windows may overlap, and an image may be smaller than the model's input.
    EXPECT_EQ(run({m_folder / "large.png", "--window", "20x20"}).status, 0);
    cv::imwrite(m_folder / "small.png", testImage(2, {20, 17}));
    ASSERT_EQ(run({m_folder / "small.png", "--window", "16x16", "--out", m_folder / "tiny"}).status, 0);
    EXPECT_EQ(cv::imread(m_folder / "tiny/small.map.png").size(), cv::Size(20, 17));
}

TEST_F(Run, ABadImageIsNamedCountedAndLeftOut) {
    std::ofstream(m_folder / "in/p1.png") << "damaged";
    const Outcome outcome = run({m_folder / "in", "--out", m_folder / "out"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.says("p1.png"));
    EXPECT_TRUE(outcome.says("1 images"));
    EXPECT_EQ(files("out").count("p2.labels.png"), 1u);
    EXPECT_EQ(files("out").count("p1.labels.png"), 0u);
}

TEST_F(Run, ABadSourceOfSeveralIsLeftOutAsInAFolder) {
    std::ofstream(m_folder / "bad.png") << "damaged";
    std::ofstream(m_folder / "bad.avi") << std::string(5000, 'x');
    const Outcome outcome = run({m_folder / "in/p0.png", m_folder / "bad.png", m_folder / "bad.avi",
                                 m_folder / "in/p1.png", "--out", m_folder / "out"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.says("bad.png"));
    EXPECT_TRUE(outcome.says("bad.avi"));
    EXPECT_TRUE(outcome.says("1 images"));
    EXPECT_EQ(files("out").count("p0.labels.png"), 1u);
    EXPECT_EQ(files("out").count("p1.labels.png"), 1u);
    EXPECT_EQ(table(textOf(m_folder / "out/tokens.csv")).size(), 3u);
}

TEST_F(Run, AJpegThatIsCutOffIsRefusedInOneLine) {
    cv::imwrite(m_folder / "cut.jpg", testImage(1, {320, 240}));
    fs::resize_file(m_folder / "cut.jpg", fs::file_size(m_folder / "cut.jpg") / 2);
    const Outcome outcome = run({m_folder / "cut.jpg"});
    EXPECT_EQ(outcome.status, 3);
    EXPECT_EQ(outcome.lines(), 1) << outcome.err;
    EXPECT_TRUE(outcome.says("cut.jpg: damaged")) << outcome.err;
}

TEST_F(Run, NothingThatCanBeReadIsAnInputThatCannotBeUsed) {
    std::ofstream(m_folder / "bad.png") << "damaged";
    EXPECT_EQ(run({m_folder / "bad.png", m_folder / "bad.png"}).status, 3);
    for (int i = 0; i < 3; ++i)
        std::ofstream(m_folder / ("in/p" + std::to_string(i) + ".png")) << "damaged";
    const Outcome outcome = run({m_folder / "in"});
    EXPECT_EQ(outcome.status, 3);
    EXPECT_TRUE(outcome.says("p2.png")) << outcome.err;
}

TEST_F(Run, ACutOffVideoFailsAndKeepsWhatItGave) {
    const std::string video = clip(200);
    fs::resize_file(video, fs::file_size(video) / 2);
    const Outcome outcome = run({video, "--out", m_folder / "out", "--save", "csv"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.lines(), 1) << outcome.err;
    EXPECT_GT(table(textOf(m_folder / "out/tokens.csv")).size(), 20u);
}

TEST_F(Run, SourcesOfOneStemDoNotOverwriteEachOther) {
    fs::create_directory(m_folder / "more");
    cv::imwrite(m_folder / "more/p0.png", testImage(9));
    ASSERT_EQ(run({m_folder / "in", m_folder / "more", "--out", m_folder / "out", "--save", "labels"}).status,
              0);
    EXPECT_EQ(files("out").size(), 4u);
}

TEST_F(Run, NightIsTheSameOnEveryRunAndDarker) {
    const auto column = [&](const std::vector<std::string>& words) { return table(run(words).out)[1][4]; };
    const std::string day = column({m_folder / "in"}), night = column({m_folder / "in", "--night"});
    EXPECT_LT(std::stod(night), 0.5 * std::stod(day));
    EXPECT_EQ(night, column({m_folder / "in", "--night", "0.35,250,0.01"}));
    EXPECT_NE(night, column({m_folder / "in", "--night", "0.5,250,0.01"}));
}

TEST_F(Run, NightInTheStreetIsNight) {
    const auto rows = table(run({"demo", "--day-cycle", "24"}).out);
    ASSERT_EQ(rows.size(), 25u);
    for (int hour = 0; hour < 24; ++hour)
        EXPECT_EQ(rows[hour + 1][3], hour <= 5 || hour >= 19 ? "night" : "day") << hour;
}

TEST_F(Run, CtrlCLeavesWholeFiles) {
    const std::string video = clip(3000);
    Process process({"run", m_folder / "model.onnx", video, "--out", m_folder / "out"});
    for (int i = 0; i < 500 && !fs::exists(m_folder / "out/clip_000005.map.png"); ++i)
        usleep(10'000);
    process.signal(SIGINT);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    size_t images = 0;
    for (const auto& entry : fs::directory_iterator(m_folder / "out")) {
        if (entry.path().extension() != ".png") continue;
        EXPECT_NE(entry.path().filename().string()[0], '.') << "a half-written file was left";
        EXPECT_FALSE(cv::imread(entry.path().string(), cv::IMREAD_UNCHANGED).empty()) << entry.path();
        ++images;
    }
    const auto rows = table(textOf(m_folder / "out/tokens.csv"));
    EXPECT_LT(rows.size(), 3001u);
    EXPECT_EQ(images, 3 * (rows.size() - 1));
    for (const auto& row : rows)
        EXPECT_EQ(row.size(), rows[0].size());
}

}  // namespace
}  // namespace mpm::test

// Runs mpm tune and mpm convert --tune. The winner depends on the machine, so the tests only check properties
// that every winner has.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <opencv2/imgcodecs.hpp>

#include "cli/eval_set.hpp"
#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

class Tune : public ::testing::Test {
protected:
    void SetUp() override {
        writeSmallModel(model);
        for (int i = 0; i < 9; ++i)
            cv::imwrite(m_folder / ("p" + std::to_string(i) + ".png"), testImage(i));
    }

    Outcome tune(const std::vector<std::string>& more) const {
        std::vector<std::string> words = {"tune", model, m_folder / "p*.png"};
        words.insert(words.end(), more.begin(), more.end());
        return mpmProgram(words);
    }

    void expect(int status, const std::vector<std::string>& words, const std::string& line) const {
        const Outcome outcome = mpmProgram(words);
        EXPECT_EQ(outcome.status, status) << outcome.err;
        EXPECT_TRUE(outcome.says(line)) << outcome.err;
    }

    TempFolder m_folder;
    const std::string model = m_folder / "model.onnx";
};

TEST_F(Tune, ReportsCandidatesInAllForms) {
    const Outcome outcome =
        tune({"--faster", "1", "--json", m_folder / "t.json", "--plot", m_folder / "t.svg"});
    ASSERT_TRUE(outcome.status == 0 || outcome.status == 1) << outcome.err;
    EXPECT_NE(outcome.out.find("| agreement"), std::string::npos) << outcome.out;
    EXPECT_NE(readText(m_folder / "t.svg").find("<svg"), std::string::npos);
    const auto json = readJson(m_folder / "t.json");
    EXPECT_EQ(json["agreement"], "labels");
    EXPECT_EQ(json["images"], 9);
    EXPECT_EQ(json["reached"], outcome.status == 0);
    ASSERT_GT(json["results"].size(), 5u);
    int chosen = 0, whole = 0;
    for (const auto& row : json["results"]) {
        for (const char* key : {"method", "parameters", "schedule", "tokens", "ms", "speed", "agreement"})
            EXPECT_TRUE(row.contains(key)) << key;
        EXPECT_GE(row["agreement"]["mean"], row["agreement"]["worst_tenth"]);
        chosen += row["chosen"] ? 1 : 0;
        whole += row["images"] == 9 ? 1 : 0;
    }
    EXPECT_EQ(chosen, outcome.status == 0 ? 1 : 0);
    EXPECT_GE(whole, 4) << "the last stage sees all images";
}

TEST_F(Tune, ReadsSourcesFromAFile) {
    std::ofstream(m_folder / "list.txt") << m_folder / "p*.png" << '\n';
    const Outcome outcome =
        mpmProgram({"tune", model, "--source-from", m_folder / "list.txt", "--json", m_folder / "t.json"});
    ASSERT_TRUE(outcome.status == 0 || outcome.status == 1) << outcome.err;
    EXPECT_EQ(readJson(m_folder / "t.json")["images"], 9);
}

TEST_F(Tune, WritesItsChoiceOrNothing) {
    const std::string before = readText(model);
    const Outcome outcome = tune({"--keep", "0.05", "--write"});
    if (outcome.status == 0) {
        EXPECT_NE(outcome.out.find("written"), std::string::npos);
        const auto info = nlohmann::json::parse(mpmProgram({"info", model, "--json"}).out);
        EXPECT_NE(outcome.out.find("chosen     " + info["method"].get<std::string>() + " before blocks"),
                  std::string::npos)
            << outcome.out;
        EXPECT_EQ(mpmProgram({"run", model, m_folder / "p0.png"}).status, 0);
    } else {
        EXPECT_EQ(outcome.status, 1) << outcome.err;
        EXPECT_TRUE(outcome.says("nothing is written")) << outcome.err;
        EXPECT_EQ(readText(model), before);
    }
    tune({"--keep", "0.05"});
    if (outcome.status != 0) {
        EXPECT_EQ(readText(model), before) << "not without --write";
    }
}

TEST_F(Tune, AGoalThatNoneReachesIsStatusOne) {
    const std::string before = readText(model);
    const Outcome outcome = tune({"--faster", "1000", "--write"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.says("no candidate is 1000 times as fast")) << outcome.err;
    EXPECT_TRUE(outcome.says("The nearest: ")) << outcome.err;
    EXPECT_EQ(readText(model), before);
}

TEST_F(Tune, WrongUseIsRejectedBeforeAnythingRuns) {
    EXPECT_EQ(tune({"--plot", m_folder / "t.pdf"}).status, 2);
    const std::string images = m_folder / "p*.png";
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{"--keep", "0"},
                                               {"--keep", "1.01"},
                                               {"--keep", "nan"},
                                               {"--faster", "0.9"},
                                               {"--minutes", "0"},
                                               {"--minutes", "-1"},
                                               {"--keep", "0.9", "--faster", "2"}}) {
        std::vector<std::string> words = {"tune", model, images};
        words.insert(words.end(), wrong.begin(), wrong.end());
        expect(2, words, wrong[wrong.size() - 2]);
    }
    expect(2, {"tune", model}, "SOURCE");
    expect(2, {"tune", "random", images, "--write"}, "--write");
    expect(2, {"convert", model, m_folder / "out.onnx", "--tune", images, "--blocks", "2"}, "--tune");
    expect(3, {"tune", m_folder / "none.onnx", images}, "none.onnx");
}

TEST_F(Tune, ImagesThatShowTooLittleAreStatusThree) {
    expect(3, {"tune", model, m_folder / "p0.png"}, "has 1 image;");
    for (int i = 0; i < 12; ++i)
        cv::imwrite(m_folder / ("black" + std::to_string(i) + ".png"),
                    cv::Mat(64, 96, CV_8UC3, cv::Scalar::all(0)));
    expect(3, {"tune", model, m_folder / "black*.png"}, "12 images, 12 of one colour");
    expect(3, {"tune", model, m_folder / "p*.png", "--minutes", "1e-9"}, "a larger --minutes allows more");
}

TEST_F(Tune, OtherKindsOfModelsHaveTheirOwnMeasure) {
    const auto kindOf = [&](const SmallModel& small) {
        writeSmallModel(model, small);
        const Outcome outcome = tune({"--faster", "1", "--json", m_folder / "t.json"});
        EXPECT_TRUE(outcome.status == 0 || outcome.status == 1) << outcome.err;
        return readJson(m_folder / "t.json")["agreement"].get<std::string>();
    };
    SmallModel features, depth;
    features.features = true, features.metadata = false;
    depth.depth = true, depth.metadata = false;
    EXPECT_EQ(kindOf(features), "rows");
    EXPECT_EQ(kindOf(depth), "map");
    SmallModel detector;
    detector.boxes = 3, detector.sizeInput = true;
    for (const bool windows : {false, true}) {
        detector.windows = windows;
        EXPECT_EQ(kindOf(detector), "boxes");
        const auto json = readJson(m_folder / "t.json");
        for (const auto& row : json["results"]) {
            if (row["images"] > 0) {
                EXPECT_EQ(row["agreement"]["mean"], 1) << "the model's boxes never move";
            }
        }
    }
}

// The signal may come at the start, during the search or after it. In each case, the model must not change.
TEST_F(Tune, ASignalWritesNothing) {
    const std::string before = readText(model);
    Process process({"tune", model, "demo", "--faster", "1000", "--write"});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    process.signal(SIGINT);
    process.wait();
    EXPECT_EQ(readText(model), before);
}

}  // namespace
}  // namespace mpm::test

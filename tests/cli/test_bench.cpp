#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include <opencv2/imgcodecs.hpp>

#include "cli/eval_set.hpp"
#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

class Bench : public ::testing::Test {
protected:
    void SetUp() override {
        writeSmallModel(m_folder / "model.onnx");
        for (int i = 0; i < 4; ++i)
            cv::imwrite(m_folder / ("p" + std::to_string(i) + ".png"), testImage(i));
    }

    nlohmann::json bench(const std::vector<std::string>& more) const {
        std::vector<std::string> words = {
            "bench",  m_folder / "model.onnx", m_folder / "*.png", "--rounds", "4", "--warm-up", "1",
            "--json", m_folder / "b.json"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = mpmProgram(words);
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_NE(outcome.out.find("| method"), std::string::npos);
        return readJson(m_folder / "b.json");
    }

    TempFolder m_folder;
};

TEST_F(Bench, JsonHasTheContractsKeys) {
    const auto json = bench({"--compare", "none,mpm,mpm:1+3+5"});
    for (const char* key : {"mpm", "opencv", "cpu", "model", "results"})
        EXPECT_TRUE(json.contains(key)) << key;
    ASSERT_EQ(json["results"].size(), 3u);
    for (const auto& row : json["results"]) {
        for (const char* key : {"method", "schedule", "device", "precision", "batch", "tokens", "gflops",
                                "ms", "encoder_ms", "merge_ms", "restore_ms", "images_per_second", "stderr"})
            EXPECT_TRUE(row.contains(key)) << key;
        EXPECT_LE(row["ms"]["p10"], row["ms"]["median"]);
        EXPECT_LE(row["ms"]["median"], row["ms"]["p90"]);
        EXPECT_EQ(row["device"], "cpu");
        EXPECT_EQ(row["tokens"].size(), 6u);
    }
    EXPECT_EQ(json["results"][0]["method"], "none");
    EXPECT_EQ(json["results"][0]["schedule"], nlohmann::json::array());
    EXPECT_EQ(json["results"][1]["schedule"], nlohmann::json({2, 5}));
    EXPECT_EQ(json["results"][2]["method"], "mpm");
    EXPECT_EQ(json["results"][2]["schedule"], nlohmann::json({1, 3, 5}));
}

TEST_F(Bench, TableFitsANarrowTerminal) {
    setenv("COLUMNS", "80", 1);
    const Outcome narrow = mpmProgram(
        {"bench", m_folder / "model.onnx", m_folder / "*.png", "--rounds", "2", "--device", "cpu"});
    unsetenv("COLUMNS");
    ASSERT_EQ(narrow.status, 0) << narrow.err;
    const std::string first = narrow.out.substr(0, narrow.out.find('\n'));
    EXPECT_LE(first.size(), 80u) << first;
    for (const char* column : {"method", "schedule", "tokens left", "ms", "images/s", "speed"})
        EXPECT_NE(first.find(column), std::string::npos) << first;
    EXPECT_NE(narrow.out.find("All rows: device cpu, precision f32, batch 1\n"), std::string::npos)
        << narrow.out;
}

// Computes the operations for 24 tokens of width 16 and six blocks with 48 hidden values: the encoder's
// products and attention, the patch embedding and the head. OpenCV's layers add few operations.
TEST_F(Bench, GflopsOfAllTokensAreTheProducts) {
    const auto row = bench({"--compare", "none"})["results"][0];
    const double tokens = 24, dim = 16, hidden = 48;
    const double block = 2 * tokens * (4 * dim * dim + 2 * dim * hidden) + 4 * tokens * tokens * dim;
    const double rest = 2 * tokens * dim * 3 * 64 + 2 * tokens * dim * 3;
    EXPECT_NEAR(row["gflops"].get<double>() * 1e9, 6 * block + rest, 0.03 * (6 * block + rest));
}

TEST_F(Bench, GflopsFollowTheTokens) {
    const auto rows = bench({"--compare", "none,mpm"})["results"];
    const std::vector<double> tokens = rows[1]["tokens"];
    EXPECT_EQ(tokens.front(), 24);
    EXPECT_LT(tokens.back(), 24);
    EXPECT_LT(rows[1]["gflops"], rows[0]["gflops"]);
    EXPECT_EQ(rows[0]["gflops_deviation"], 0.0);
}

// The network `random` is a ViT-Tiny/16 with random weights: here 16 tokens of width 192, twelve blocks,
// eight classes.
TEST_F(Bench, GflopsOfTheRandomNetworkAreKnown) {
    const Outcome outcome = mpmProgram({"bench", "random", m_folder / "*.png", "--size", "64x64", "--rounds",
                                        "1", "--compare", "none", "--json", m_folder / "r.json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const double n = 16, d = 192;
    const double operations = 12 * (2 * n * 12 * d * d + 4 * n * n * d) + 2 * n * d * (3 * 256 + 8);
    EXPECT_NEAR(readJson(m_folder / "r.json")["results"][0]["gflops"].get<double>() * 1e9, operations, 1);
}

TEST_F(Bench, BlocksMakeTheWhole) {
    const auto rows = bench({"--compare", "none,mpm,tome:r=2,algm:tau=0"})["results"];
    for (const auto& row : rows) {
        double sum = 2.0 * 24 * 16 * (3 * 64 + 3) / 1e9;  // the embedding and the head
        for (double block : row["gflops_by_block"])
            sum += block;
        EXPECT_NEAR(row["gflops"].get<double>(), sum, 1e-3 * sum) << row["parameters"];
    }
}

TEST_F(Bench, PaddingComputesMoreRowsThanThereAre) {
    SmallModel model;
    model.batch = 4;
    writeSmallModel(m_folder / "model.onnx", model);
    const auto rows = bench({"--compare", "none,mpm,tome:r=2", "--batch", "4"})["results"];
    EXPECT_TRUE(rows[0]["padded"].is_null()) << "all tokens have one length";
    EXPECT_TRUE(rows[2]["padded"].is_null()) << "ToMe leaves every image the same count";
    ASSERT_LT(rows[1]["tokens_kept"]["least"], rows[1]["tokens_kept"]["most"]) << "the images are alike";
    EXPECT_GT(rows[1]["padded"]["rows"], 1.0);
    EXPECT_LT(rows[1]["padded"]["rows"], 2.0);
    EXPECT_GT(rows[1]["padded"]["ms"], 0.0);
}

TEST_F(Bench, ALossBudgetChoosesSchedules) {
    const auto row = [](const std::string& text, const std::vector<int>& schedule, double loss, double gflops,
                        const char* precision = "f32") {
        return nlohmann::json{{"parameters", text}, {"precision", precision}, {"schedule", schedule},
                              {"loss", loss},       {"gflops", gflops},       {"night", nullptr}};
    };
    const nlohmann::json report = {
        {"results",
         {row("none", {}, 0, 9), row("mpm", {2, 5}, 0.003, 5, "i8"), row("mpm", {2, 5}, 0.004, 5),
          row("mpm:0", {0}, 0.1, 4), row("mpm:5", {5}, -0.001, 7), row("mpm:mean=weighted", {2, 5}, 0, 3)}}};
    std::ofstream(m_folder / "eval.json") << report;
    const auto rows = bench({"--eval", m_folder / "eval.json", "--loss", "0.5"})["results"];
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1]["parameters"], "mpm:2+5");
    EXPECT_EQ(rows[2]["parameters"], "mpm:5");
    const auto words = [&](const std::string& loss) {
        return mpmProgram({"bench", m_folder / "model.onnx", m_folder / "*.png", "--rounds", "2", "--eval",
                           m_folder / "eval.json", "--loss", loss});
    };
    EXPECT_NE(words("0.5").out.find("0.40 points of mIoU"), std::string::npos);
    EXPECT_EQ(words("-1").status, 1);
    std::ofstream(m_folder / "eval.json") << "{}";
    EXPECT_EQ(words("0.5").status, 3);
    EXPECT_EQ(mpmProgram({"bench", m_folder / "model.onnx", "--loss", "1"}).status, 2);
}

TEST_F(Bench, ReuseWithoutClassesIsMeasured) {
    SmallModel depth;
    depth.depth = true;
    writeSmallModel(m_folder / "model.onnx", depth);
    EXPECT_EQ(bench({"--compare", "none,reuse", "--batch", "1"})["results"].size(), 2u);
}

TEST_F(Bench, BlocksOfAChainAreListed) {
    SmallModel chain;
    chain.queries = 5;
    chain.labels = true;
    writeSmallModel(m_folder / "model.onnx", chain);
    const auto json = bench({"--compare", "none,mpm,mpm:4", "--batch", "1"});
    const std::vector<double> all = json["results"][0]["tokens"], merged = json["results"][1]["tokens"],
                              late = json["results"][2]["tokens"];
    ASSERT_EQ(all.size(), 6u);  // one count for each block of both segments, without the queries
    EXPECT_EQ(all[5], 24);
    ASSERT_EQ(merged.size(), 6u);
    EXPECT_LT(merged[2], merged[1]);
    EXPECT_EQ(merged[4], merged[2]);
    EXPECT_LT(merged[5], merged[4]);
    EXPECT_EQ(late[3], 24);
    EXPECT_LT(late[4], 24);
}

TEST_F(Bench, TimesByPartAreThoseOfTheWhole) {
    SmallModel chain;
    chain.queries = 5;
    chain.labels = true;
    writeSmallModel(m_folder / "model.onnx", chain);
    const auto json = bench({"--compare", "none,mpm", "--batch", "1"});
    for (const auto& row : json["results"]) {
        std::vector<std::string> names;
        double means = 0;
        for (const auto& part : row["parts"]) {
            names.push_back(part["part"]);
            EXPECT_GE(part["ms"], 0.0);
            means += part["mean_ms"].get<double>();
        }
        for (const char* name : {"patch embedding", "encoder, segment 1", "between segments 1 and 2",
                                 "encoder, segment 2", "behind the encoder", "outside the layers"})
            EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
        EXPECT_NEAR(means, row["mean_ms"].get<double>(), 1e-6 * means);
    }
    const Outcome outcome =
        mpmProgram({"bench", m_folder / "model.onnx", m_folder / "*.png", "--rounds", "2"});
    EXPECT_TRUE(outcome.out.find("| part ") != std::string::npos) << outcome.out;
    EXPECT_TRUE(outcome.out.find("between segments 1 and 2") != std::string::npos) << outcome.out;
}

TEST_F(Bench, OneRoundHasNoSpreadAndNoVerdict) {
    const Outcome outcome = mpmProgram({"bench", m_folder / "model.onnx", m_folder / "*.png", "--rounds", "1",
                                        "--json", m_folder / "b.json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(readJson(m_folder / "b.json")["results"][0]["stderr"].is_null());
    EXPECT_EQ(outcome.out.find("0.00 | 1.00x"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("pay."), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("One round"), std::string::npos) << outcome.out;
}

TEST_F(Bench, ABadImageIsNamedAndLeftOut) {
    std::ofstream(m_folder / "p1.png") << "damaged";
    const Outcome outcome =
        mpmProgram({"bench", m_folder / "model.onnx", m_folder / "*.png", "--rounds", "1"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.says("p1.png")) << outcome.err;
    EXPECT_NE(outcome.out.find("| method"), std::string::npos);
}

TEST_F(Bench, CtrlCIsAFailureInOneLine) {
    Process process({"bench", m_folder / "model.onnx", m_folder / "*.png", "--rounds", "1000000"});
    process.awaitCatching(SIGINT);
    process.signal(SIGINT);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.lines(), 1) << outcome.err;
    EXPECT_TRUE(outcome.says("stopped in round")) << outcome.err;
    EXPECT_EQ(outcome.out, "");
}

TEST_F(Bench, ABatchTheModelDoesNotTakeSaysSo) {
    const Outcome outcome =
        mpmProgram({"bench", m_folder / "model.onnx", m_folder / "*.png", "--rounds", "1", "--batch", "3"});
    if (outcome.status == 0) GTEST_SKIP() << "this OpenCV runs the model with other batches";
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.lines(), 1) << outcome.err;
    EXPECT_TRUE(outcome.says("batch"));
}

}  // namespace
}  // namespace mpm::test

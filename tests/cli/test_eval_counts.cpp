// Evaluates large data sets: in shards, continued after a kill, and compared with the counts of a script.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include <opencv2/imgcodecs.hpp>

#include "cli/eval_set.hpp"
#include "support/shared.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

std::ptrdiff_t lines(const std::string& path) {
    const std::string text = readText(path);
    return std::count(text.begin(), text.end(), '\n');
}

std::string wholeReport(const EvalSet& set, int status, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--json", set.path("whole.json")};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = set.eval(words);
    EXPECT_EQ(outcome.status, status) << outcome.err;
    return withoutTimes(readJson(set.path("whole.json")));
}

TEST(EvalCounts, ShardsJoinedAreTheWhole) {
    const EvalSet set(7);
    set.damage("p004");
    const std::string whole = wholeReport(set, 1, {"--night", "--paired"});
    std::vector<std::string> join = {"eval", "--json", set.path("joined.json"), "--join"};
    for (const std::string shard : {"3", "1", "2"}) {
        const Outcome outcome = set.eval({"--night", "--paired", "--shard", shard + "/3", "--counts",
                                          set.path(shard + ".counts"), "--json", set.path(shard + ".json")});
        EXPECT_EQ(outcome.status, shard == "2" ? 1 : 0)
            << outcome.err;  // p004, which is damaged, is image 4 from 0, so it is in shard 4 % 3 + 1
        EXPECT_EQ(readJson(set.path(shard + ".json"))["shard"], nlohmann::json({std::stoi(shard), 3}));
        join.push_back(set.path(shard + ".counts"));
    }
    const Outcome outcome = mpmProgram(join);
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_TRUE(outcome.says("p004")) << outcome.err;
    EXPECT_EQ(withoutTimes(readJson(set.path("joined.json"))), whole);
}

TEST(EvalCounts, AShardMayHaveNoImages) {
    const EvalSet set(2);
    std::vector<std::string> join = {"eval", "--join"};
    for (const std::string shard : {"1", "2", "3"}) {
        const Outcome outcome = set.eval({"--shard", shard + "/3", "--counts", set.path(shard + ".counts")});
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_EQ(outcome.says("this part has no images"), shard == "3") << outcome.err;
        const size_t first = outcome.out.find("Shard " + shard + " of 3:\n");
        EXPECT_EQ(first, shard == "3" ? std::string::npos : 0) << outcome.out;
        join.push_back(set.path(shard + ".counts"));
    }
    EXPECT_EQ(mpmProgram(join).status, 0);
}

TEST(EvalCounts, KilledAndResumedIsTheWhole) {
    const EvalSet set(150);
    set.damage("p001");
    const std::string whole = wholeReport(set, 1), counts = set.path("killed.counts");
    {
        Process process(set.words({"--counts", counts}));
        for (int i = 0; i < 2000 && (!fs::exists(counts) || lines(counts) < 20); ++i)
            usleep(1000);
        process.signal(SIGKILL);
        process.wait();
    }
    const std::string left = readText(counts);
    ASSERT_GE(lines(counts), 20);
    ASSERT_LT(lines(counts), 151) << "it was done before it could be killed";
    std::ofstream(counts, std::ios::app) << R"({"group":77,"names":["p0)";  // incomplete, as after a kill
    const Outcome outcome = set.eval({"--counts", counts, "--json", set.path("resumed.json")});
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_EQ(withoutTimes(readJson(set.path("resumed.json"))), whole);
    const size_t kept = left.rfind('\n') + 1;
    EXPECT_EQ(readText(counts).substr(0, kept), left.substr(0, kept))
        << "what was measured was measured again";
    EXPECT_EQ(lines(counts), 151);
    // Another call has nothing left to evaluate, and writes the same report.
    EXPECT_EQ(set.eval({"--counts", counts, "--json", set.path("again.json")}).status, 1);
    EXPECT_EQ(readText(set.path("again.json")), readText(set.path("resumed.json")));
}

TEST(EvalCounts, WhatDoesNotBelongTogetherIsRefused) {
    const EvalSet set(4);
    const std::string first = set.path("1.counts"), second = set.path("2.counts");
    ASSERT_EQ(set.eval({"--shard", "1/2", "--counts", first}).status, 0);
    const auto refused = [](int status, const Outcome& outcome, const std::string& word) {
        EXPECT_EQ(outcome.status, status) << outcome.err;
        EXPECT_EQ(outcome.lines(), 1) << outcome.err;
        EXPECT_TRUE(outcome.says(word)) << outcome.err;
    };
    refused(2, set.eval({"--shard", "1/2", "--counts", first, "--limit", "2"}), "pictures");
    refused(2, set.eval({"--shard", "2/2", "--counts", first}), "shard");
    refused(2, set.eval({"--shard", "1/2", "--counts", first, "--limit", "2"}), "\"pictures\" differs");
    refused(2, set.eval({"--shard", "1/2", "--counts", first, "--blocks", "1"}), "\"schedule\" differs");
    refused(3, set.eval({"--shard", "1/2", "--counts", first, "--save-labels", set.path("labels")}),
            "labels were not kept");
    refused(2, mpmProgram({"eval", "--join", first, "--limit", "2"}), "measures nothing");
    std::ofstream(set.path("notes")) << "a single line of somebody's";
    refused(3, set.eval({"--counts", set.path("notes")}), "notes");
    EXPECT_EQ(readText(set.path("notes")), "a single line of somebody's");
    refused(3, mpmProgram({"eval", "--join", first}), "shard 2 of 2 is missing");
    refused(3, mpmProgram({"eval", "--join", first, first}), "twice");
    ASSERT_EQ(set.eval({"--shard", "2/2", "--counts", second, "--night"}).status, 0);
    refused(3, mpmProgram({"eval", "--join", first, second}), "settings");
    fs::remove(second);
    ASSERT_EQ(set.eval({"--shard", "2/2", "--counts", second}).status, 0);
    EXPECT_EQ(mpmProgram({"eval", "--join", first, second}).status, 0);
    std::string text = readText(second);
    std::ofstream(second) << text.substr(0, text.size() - 40);
    refused(3, mpmProgram({"eval", "--join", first, second}), "not finished");
    std::ofstream(second) << text.substr(0, text.find('\n') + 1) << "{\"group\":1}\n";
    refused(3, mpmProgram({"eval", "--join", first, second}), "line 2");
    refused(3, mpmProgram({"eval", "--join", set.path("classes.json")}), "line 1");
    refused(3, mpmProgram({"eval", "--join", set.path("missing")}), "missing");
    ASSERT_EQ(mkfifo(set.path("pipe").c_str(), 0600), 0);
    for (const std::string& path : {set.path("pipe"), std::string("/dev/zero")}) {
        refused(3, mpmProgram({"eval", "--join", first, path}), "no regular file");
        refused(3, mpmProgram({"bench", "random", "--eval", path, "--loss", "1"}), "no regular file");
    }
    std::ofstream(set.path("hole")) << "{\"mpm_counts\":1,";
    fs::resize_file(set.path("hole"), std::uintmax_t(1) << 40);
    refused(3, mpmProgram({"eval", "--join", set.path("hole")}), "line of more than");
    refused(2, mpmProgram({"eval", set.path("model.onnx"), "--join", first}), "--join");
}

TEST(EvalCounts, DayAndNightAreOfTheSameImages) {
    const EvalSet set(3);
    ASSERT_EQ(set.eval({"--night", "0.35,250,0.01", "--night", "0.1,50,0.05", "--paired", "--json",
                        set.path("e.json"), "--csv", set.path("e.csv")})
                  .status,
              0);
    const auto report = readJson(set.path("e.json"));
    ASSERT_EQ(report["results"].size(), 9u);
    EXPECT_TRUE(report["results"][0]["night"].is_null());
    EXPECT_EQ(report["results"][8]["night"], nlohmann::json({0.1, 50.0, 0.05}));
    ASSERT_EQ(report["day_and_night"].size(), 6u);
    for (const auto& pair : report["day_and_night"]) {
        if (pair["parameters"] != "mpm") continue;
        const auto& day = report["results"][1]["per_picture"];
        const auto& night = report["results"][pair["night"][0] == 0.1 ? 7 : 4]["per_picture"];
        double sum = 0;
        for (int i = 0; i < 3; ++i) {
            const double all = day["tokens_entering"][i];
            sum +=
                (all - night["tokens_kept"][i].get<double>()) / (all - day["tokens_kept"][i].get<double>()) -
                1;
        }
        EXPECT_NEAR(pair["merged_change"], sum / 3, 1e-9);
    }
    EXPECT_EQ(lines(set.path("e.csv")), 10);
}

TEST(EvalCounts, PlotsAreWhatTheRowsAllow) {
    const EvalSet set(2);
    const auto drawn = [&](const std::string& compare, const std::vector<std::string>& more) {
        fs::remove_all(set.path("plots"));
        std::vector<std::string> words = {"--compare", compare, "--plots", set.path("plots")};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = set.eval(words);
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        std::set<std::string> stems;
        for (const auto& entry : fs::directory_iterator(set.path("plots"))) {
            stems.insert(entry.path().stem());
            if (entry.path().extension() == ".svg")
                EXPECT_EQ(readText(entry.path()).rfind("<svg", 0), 0u);
            else
                EXPECT_GT(cv::imread(entry.path()).cols, 800);
        }
        return stems;
    };
    EXPECT_EQ(drawn("mpm", {}), (std::set<std::string>{"tokens", "distance"}));
    EXPECT_EQ(drawn("none,singles,pairs", {}), std::set<std::string>{"depth"});
    EXPECT_EQ(drawn("none,mpm,tome:r=1,tome:r=2", {"--night", "--paired"}),
              (std::set<std::string>{"accuracy", "tokens", "distance", "regions", "night", "tuning"}));
}

TEST(EvalCounts, PlotsNameReuse) {
    const EvalSet set(2);
    const Outcome outcome = set.eval({"--compare", "none,mpm,reuse", "--plots", set.path("plots")});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::string svg = readText(set.path("plots/accuracy.svg"));
    EXPECT_NE(svg.find(">reuse"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("{none}"), std::string::npos) << svg;
}

TEST(EvalCounts, AScriptOfNobodysAgreesWithTheFigure) {
    const std::string root = mpm::test::sharedDir() + "/camvid";
    if (!fs::exists(root)) GTEST_SKIP() << "CamVid is not here";
    const TempFolder folder;
    const Outcome outcome =
        mpmProgram({"eval", "default", "--dataset", "camvid", "--root", root, "--limit", "10", "--compare",
                    "none,mpm", "--json", folder / "e.json", "--save-labels", folder / "found"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto results = readJson(folder / "e.json")["results"];
    for (int row = 0; row < 2; ++row) {
        const std::string command = "/usr/bin/python3 '" MPM_SOURCE_DIR "/tests/cli/plain_miou.py' '" + root +
                                    "/val/labels' '" +
                                    folder / ("found/" + std::string(row ? "mpm" : "none")) + "' 11 11";
        FILE* script = popen(command.c_str(), "r");
        double miou = -1;
        EXPECT_EQ(std::fscanf(script, "%lf", &miou), 1);
        EXPECT_EQ(pclose(script), 0) << "python3 with numpy and cv2 is needed";
        EXPECT_NEAR(results[row]["miou"], miou, 1e-4);
    }
}

}  // namespace
}  // namespace mpm::test

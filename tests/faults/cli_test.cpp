// Runs each verb of `mpm` that writes files, once for each system call that may fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <opencv2/imgcodecs.hpp>

#include "cli/eval_set.hpp"
#include "cli/small_model.hpp"
#include "faults/trial.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

constexpr int kFew = 26;

/// Returns whether each line has as many cells as in `good`. Lines may be missing if the run stopped early.
bool isCsv(const std::string& bytes, const std::string& good) {
    const auto cells = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
    std::istringstream lines(bytes), wanted(good);
    for (std::string line, like; std::getline(lines, line);)
        if (!std::getline(wanted, like) || cells(line) != cells(like)) return false;
    return !bytes.empty() && bytes.back() == '\n';
}

bool isJsonLines(const std::string& bytes, const std::string&) {
    std::istringstream lines(bytes);
    for (std::string line; std::getline(lines, line);)
        if (nlohmann::json::parse(line, nullptr, false).is_discarded()) return false;
    return !bytes.empty() && bytes.back() == '\n';
}

/// Returns whether `bytes` are an image with the size of `good`. Pixels may differ, because an input that
/// could not be read is missing.
bool isImage(const std::string& bytes, const std::string& good) {
    const auto size = [](const std::string& png) {
        const cv::Mat data(1, static_cast<int>(png.size()), CV_8U, const_cast<char*>(png.data()));
        return cv::imdecode(data, cv::IMREAD_COLOR).size();
    };
    return !bytes.empty() && size(bytes) == size(good);
}

/// Returns whether `bytes` are a complete report. Values may differ: times vary, and an input that could not
/// be read is missing.
bool isReport(const std::string& bytes, const std::string& good) {
    const auto report = nlohmann::json::parse(bytes, nullptr, false);
    const auto like = nlohmann::json::parse(good);
    if (!report.is_object() || report.size() != like.size() || bytes.back() != '\n') return false;
    return report["results"].size() == like["results"].size();
}

std::string lines(const fs::path& path, const Ending& ending, int wanted) {
    const std::string text = readText(path);
    const auto found = std::count(text.begin(), text.end(), '\n');
    if (ending.status != 0 || found == wanted) return {};
    return path.filename().string() + " has " + std::to_string(found) + " lines of " + std::to_string(wanted);
}

class CliFaults : public ::testing::Test {
protected:
    CliFaults() {
        writeSmallModel(in("model.onnx"));
        for (const int seed : {1, 2})
            cv::imwrite(in("p" + std::to_string(seed) + ".png"), testImage(seed));
    }
    std::string in(const std::string& name) const { return m_inputs / name; }
    static std::vector<std::string> mpm(std::vector<std::string> words) {
        words.insert(words.begin(), MPM_PROGRAM);
        words.insert(words.end(), {"--threads", "1"});
        return words;
    }
    static void expectAll(const Faulty& program) {
        const int points = faultPoints(kFew), tried = tryFaults(program, points);
        EXPECT_GE(tried, points);
    }
    TempFolder m_inputs;
};

TEST_F(CliFaults, Convert) {
    Faulty program{
        "convert", mpm({"convert", in("model.onnx"), "@/out.onnx", "--blocks", "3"}), {{"out.onnx"}}};
    expectAll(program);
}

TEST_F(CliFaults, Run) {
    Faulty program{"run",
                   mpm({"run", in("model.onnx"), in("p1.png"), in("p2.png"), "--out", "@/new/out", "--save",
                        "labels,overlay,map,csv,jsonl,timeline"}),
                   {{"new/out/tokens.csv", isCsv, true},
                    {"new/out/tokens.jsonl", isJsonLines, true},
                    {"new/out/timeline.png", isImage}}};
    for (const char* stem : {"p1", "p2"})
        for (const char* kind : {".labels.png", ".overlay.png", ".map.png"})
            program.writes.push_back({std::string("new/out/") + stem + kind});
    program.oneLine = false;
    program.judge = [](const fs::path& folder, const Ending& ending) {
        const std::string csv = lines(folder / "new/out/tokens.csv", ending, 3);
        return csv.empty() ? lines(folder / "new/out/tokens.jsonl", ending, 2) : csv;
    };
    expectAll(program);
}

TEST_F(CliFaults, Bench) {
    Faulty program{"bench",
                   mpm({"bench", in("model.onnx"), in("p1.png"), "--rounds", "1", "--warm-up", "0", "--json",
                        "@/bench.json"}),
                   {{"bench.json", isReport}}};
    expectAll(program);
}

TEST_F(CliFaults, Eval) {
    const EvalSet set(4);
    std::vector<std::string> words =
        set.words({"--json", "@/eval.json", "--csv", "@/eval.csv", "--counts", "@/eval.counts",
                   "--save-labels", "@/labels", "--compare", "mpm"});
    Faulty program{"eval",
                   mpm(words),
                   {{"eval.json", isReport}, {"eval.csv", isCsv}, {"eval.counts", isJsonLines, true, true}}};
    for (int i = 0; i < 4; ++i)
        program.writes.push_back({"labels/p00" + std::to_string(i) + ".png"});
    program.oneLine = false;
    // The existing file is the first half of an evaluation that was killed. The file must not lose lines.
    Faulty first = program;
    const TempFolder half;
    fs::create_directories(half.path() + "/a/b");
    ASSERT_EQ(runWith(first, "", half.path() + "/a/b").status, 0);
    std::istringstream counts(readText(half / "a/b/eval.counts"));
    std::string kept;
    for (std::string line; std::count(kept.begin(), kept.end(), '\n') < 3 && std::getline(counts, line);)
        kept += line + '\n';
    program.prepare = [kept, &half](const fs::path& folder, bool old) {
        if (!old) return;
        fs::copy(half.path() + "/a/b/labels", folder / "labels");
        std::ofstream(folder / "eval.counts") << kept;
    };
    program.judge = [](const fs::path& folder, const Ending& ending) {
        return lines(folder / "eval.counts", ending, 5);
    };
    expectAll(program);
}

}  // namespace
}  // namespace mpm::test

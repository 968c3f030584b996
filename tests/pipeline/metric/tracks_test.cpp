// Compares the figures of tracks with those of the published code and of a second implementation, and reads
// damaged files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "pipeline/dataset/track_files.hpp"
#include "pipeline/metric/plain_tracks.hpp"
#include "pipeline/metric/tracks.hpp"
#include "support/shared.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using pipeline::TrackFigures;

std::map<std::string, double> named(const TrackFigures& f) {
    return {{"HOTA", f.hota},   {"DetA", f.detA},   {"AssA", f.assA},   {"LocA", f.locA}, {"DetRe", f.detRe},
            {"DetPr", f.detPr}, {"AssRe", f.assRe}, {"AssPr", f.assPr}, {"MOTA", f.mota}, {"MOTP", f.motp},
            {"IDF1", f.idf1},   {"IDP", f.idp},     {"IDR", f.idr}};
}

std::map<std::string, int64_t> counts(const TrackFigures& f) {
    return {{"IDSW", f.switches}, {"Frag", f.fragments}, {"MT", f.mostlyTracked}, {"PT", f.partlyTracked},
            {"ML", f.mostlyLost}, {"CLR_TP", f.right},   {"CLR_FN", f.missed},    {"CLR_FP", f.wrong},
            {"IDTP", f.idRight},  {"IDFN", f.idMissed},  {"IDFP", f.idWrong}};
}

std::map<std::string, pipeline::HotaCurve> curves(const TrackFigures& f) {
    return {{"HOTA", f.hotaAt},        {"DetA", f.detAAt},      {"AssA", f.assAAt},
            {"LocA", f.locAAt},        {"DetRe", f.detReAt},    {"DetPr", f.detPrAt},
            {"AssRe", f.assReAt},      {"AssPr", f.assPrAt},    {"HOTA_TP", f.hotaRight},
            {"HOTA_FN", f.hotaMissed}, {"HOTA_FP", f.hotaWrong}};
}

void expectFigures(const TrackFigures& figures, const json& expected) {
    const std::string where = expected["name"];
    const auto values = named(figures);
    ASSERT_EQ(values.size(), expected["figures"].size());
    for (const auto& [name, value] : values)
        EXPECT_NEAR(value, expected["figures"][name], 1e-12) << where << " " << name;
    const auto numbers = counts(figures);
    for (const auto& [name, value] : numbers)
        EXPECT_EQ(value, expected["counts"][name]) << where << " " << name;
    const auto all = curves(figures);
    ASSERT_EQ(all.size(), expected["per_alpha"].size());
    for (const auto& [name, curve] : all)
        for (int t = 0; t < pipeline::kHotaThresholds; ++t)
            EXPECT_NEAR(curve[t], expected["per_alpha"][name][t], 1e-12) << where << " " << name << " " << t;
}

TEST(Tracks, EqualThePublishedCode) {
    const std::string folder = sharedDir() + "/fixtures/mot/";
    if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
    std::ifstream file(folder + "combined.expected.json");
    const json combined = json::parse(file);
    std::vector<pipeline::TrackCounts> all;
    for (const std::string name : combined["sequences"]) {
        std::ifstream own(folder + name + ".expected.json");
        const json expected = json::parse(own);
        all.push_back(trackCounts(pipeline::readTracks(folder + name + ".gt.txt", true).frames,
                                  pipeline::readTracks(folder + name + ".tracks.txt", false).frames));
        expectFigures(all.back().figures, expected);
        EXPECT_EQ(all.back().truthBoxes, expected["truth_boxes"]);
        EXPECT_EQ(all.back().trackBoxes, expected["track_boxes"]);
        EXPECT_EQ(all.back().truthIds, expected["truth_ids"]);
        EXPECT_EQ(all.back().trackIds, expected["track_ids"]);
    }
    expectFigures(pipeline::combinedFigures(all), combined);
}

PlainTracks randomSequence(uint64_t seed) {
    Random random(seed);
    PlainTracks sequence;
    sequence.frames = 1 + random.below(12);
    const int objects = random.below(5);
    for (int id = 1; id <= objects; ++id) {
        cv::Rect2d box(random.uniform(0, 60), random.uniform(0, 60), random.uniform(8, 40),
                       random.uniform(8, 40));
        int track = id;
        for (int f = 1 + random.below(3); f <= sequence.frames; ++f) {
            box.x += random.uniform(-4, 6), box.y += random.uniform(-3, 3);
            if (random.chance(.1)) track = 10 + random.below(5);
            if (random.chance(.85)) sequence.truth[f].push_back({id, box});
            cv::Rect2d found = box;
            found.x += random.uniform(-6, 6), found.width *= random.uniform(.7, 1.3);
            auto& boxes = sequence.tracks[f];
            const bool taken =
                std::any_of(boxes.begin(), boxes.end(), [&](const auto& b) { return b.id == track; });
            if (random.chance(.8) && !taken) boxes.push_back({track, found});
        }
    }
    for (int f = 1; f <= sequence.frames; ++f)
        if (random.chance(.15))
            sequence.tracks[f].push_back(
                {50 + random.below(2), {random.uniform(0, 60), random.uniform(0, 60), 20, 30}});
    return sequence;
}

TEST(Tracks, EqualASecondWritingOnMadeUpSequences) {
    int empty = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        const PlainTracks sequence = randomSequence(seed);
        const pipeline::TrackCounts counted = trackCounts(sequence.truth, sequence.tracks);
        const TrackFigures& f = counted.figures;
        std::vector<double> mean(8);
        for (int t = 0; t < pipeline::kHotaThresholds; ++t) {
            const std::vector<double> at = sequence.hota((t + 1) * .05);
            for (size_t i = 0; i < at.size(); ++i)
                mean[i] += at[i] / pipeline::kHotaThresholds;
            EXPECT_NEAR(f.hotaAt[t], at[0], 1e-9) << seed;
        }
        const std::vector<double> own = {f.hota, f.detA, f.assA, f.locA, f.detRe, f.detPr, f.assRe, f.assPr};
        for (size_t i = 0; i < own.size(); ++i)
            EXPECT_NEAR(own[i], mean[i], 1e-9) << seed << " figure " << i;
        const std::vector<double> clear = sequence.clear(), identities = sequence.identities();
        const std::vector<double> ownClear = {counted.truthBoxes > 0 ? f.mota : clear[0],
                                              f.motp,
                                              double(f.switches),
                                              double(f.fragments),
                                              double(f.mostlyTracked),
                                              double(f.partlyTracked),
                                              double(f.mostlyLost)};
        for (size_t i = 0; i < clear.size(); ++i)
            EXPECT_NEAR(ownClear[i], clear[i], 1e-9) << seed << " clear " << i;
        EXPECT_NEAR(f.idf1, identities[0], 1e-9) << seed;
        EXPECT_NEAR(f.idp, identities[1], 1e-9) << seed;
        EXPECT_NEAR(f.idr, identities[2], 1e-9) << seed;
        empty += counted.truthBoxes == 0;
    }
    EXPECT_GT(empty, 0);
}

TEST(Assignment, HasTheLeastSum) {
    Random random(3);
    for (int trial = 0; trial < 300; ++trial) {
        cv::Mat_<double> costs(1 + random.below(5), 1 + random.below(5));
        for (double& cost : costs)
            cost = trial % 2 == 0 ? random.below(4) : random.uniform(-3, 3);
        const auto pairs = pipeline::leastAssignment(costs);
        ASSERT_EQ(int(pairs.size()), std::min(costs.rows, costs.cols));
        double sum = 0, offset = 10;
        std::set<int> rows, columns;
        for (const auto& [row, column] : pairs) {
            sum += costs(row, column);
            rows.insert(row), columns.insert(column);
        }
        EXPECT_EQ(rows.size(), pairs.size());
        EXPECT_EQ(columns.size(), pairs.size());
        const auto gain = [&](int i, int j) { return offset - costs(i, j); };
        double best = 0;
        for (const auto& [row, column] : bestPairs(costs.rows, costs.cols, gain))
            best += costs(row, column);
        EXPECT_NEAR(sum, best, 1e-9);
    }
}

TEST(Assignment, OfNothingIsNothing) {
    EXPECT_TRUE(pipeline::leastAssignment(cv::Mat_<double>(0, 3)).empty());
    EXPECT_TRUE(pipeline::leastAssignment(cv::Mat_<double>(3, 0)).empty());
}

TEST(TrackFile, NamesTheFaultAndItsLine) {
    const TempFolder folder;
    const auto fault = [&](const std::string& text, bool truth = false) -> std::string {
        std::ofstream(folder / "a.txt") << text;
        try {
            pipeline::readTracks(folder / "a.txt", truth);
        } catch (const cv::Exception& error) {
            return error.err;
        }
        return {};
    };
    const auto expectFault = [&](const std::string& text, const std::string& part) {
        EXPECT_NE(fault(text).find(part), std::string::npos) << text << ": " << fault(text);
    };
    EXPECT_EQ(fault(""), "");
    EXPECT_EQ(fault("1,1,2,3,4,5\n\n2 1 2 3 4 5\r\n"), "");
    EXPECT_EQ(fault("1, 1, 2.5, 3, 4, 5, 0.9, -1, -1, -1"), "");
    expectFault("1,1,2,3,4", "line 1 has 5 numbers");
    expectFault("1,1,2,3,4,5\n0,1,2,3,4,5", "line 2 has frame 0");
    expectFault("1.5,1,2,3,4,5", "has frame 1.5");
    expectFault("1e12,1,2,3,4,5", "has frame");
    expectFault("1,0.5,2,3,4,5", "has identity 0.5");
    expectFault("1,1,nan,3,4,5", "has no number at \"nan");
    expectFault("1,1,inf,3,4,5", "has no number at \"inf");
    expectFault("1,1,1e30,3,4,5", "above 10^9");
    expectFault("frame,id", "has no number");
    expectFault("1,1,2,3,4,5\n1,1,9,9,4,5", "line 2 has identity 1 a second time in frame 1");
    expectFault(std::string(2000, '1'), "more than 1000 bytes");
    expectFault("1;1;2;3;4;5", "has no comma");
}

TEST(TrackFile, LeavesOutTheTruthOfConfidenceZero) {
    const TempFolder folder;
    std::ofstream(folder / "a.txt") << "1,1,2,3,4,5,0,1,1\n3,2,2,3,4,5,1,1,1\n5,1,2,3,4,5,0,1,1\n";
    const pipeline::TrackFile truth = pipeline::readTracks(folder / "a.txt", true);
    EXPECT_EQ(truth.frames.size(), 1U);
    EXPECT_EQ(truth.last, 5);
    EXPECT_EQ(pipeline::readTracks(folder / "a.txt", false).frames.size(), 3U);
}

}  // namespace
}  // namespace mpm::test

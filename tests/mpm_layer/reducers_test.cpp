// Tests reducers other than mpm: compares their maps with simple implementations of the published methods,
// and checks properties of any map.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/merge/reducer.hpp"
#include "support/comma_locale.hpp"
#include "support/encoder_case.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace mpm::test {
namespace {

StageContext contextOf(const cv::Mat& tokens, int special, int block, int stage, cv::Size grid) {
    StageContext context;
    context.tokens = context.metric = {tokens.ptr<float>(), tokens.step1(), tokens.rows, tokens.cols};
    context.special = special;
    context.block = block;
    context.blocks = 12;
    context.stage = stage;
    context.grid = grid;
    return context;
}

// Computes ToMe as published: each source (a token at an even position, counting special tokens) has an edge
// to the most similar target (a token at an odd position). The `edges` best edges merge. Unmerged sources get
// the first ids, then targets.
std::vector<int> plainBipartite(const Rows& image, int special, int edges) {
    struct Edge {
        double similarity;
        int source, target;
    };
    const int n = static_cast<int>(image.size());
    std::vector<Edge> all;
    for (int a = 0; a < n; ++a) {
        if ((a + special) % 2 != 0) continue;
        Edge best{-2, a, -1};
        for (int b = 0; b < n; ++b) {
            if ((b + special) % 2 != 1) continue;
            const double s = cosine(image[a], image[b]);
            if (s > best.similarity) best = {s, a, b};
        }
        all.push_back(best);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Edge& x, const Edge& y) { return x.similarity > y.similarity; });
    std::vector<int> joined(n);
    std::iota(joined.begin(), joined.end(), 0);
    for (int e = 0; e < std::min<int>(edges, static_cast<int>(all.size())); ++e)
        joined[all[e].source] = all[e].target;
    std::vector<int> order;  // unmerged sources, then targets
    for (int parity : {0, 1}) {
        for (int i = 0; i < n; ++i) {
            if ((i + special) % 2 == parity && joined[i] == i) order.push_back(i);
        }
    }
    std::vector<int> ids(n);
    for (int i = 0; i < n; ++i)
        ids[i] = static_cast<int>(std::find(order.begin(), order.end(), joined[i]) - order.begin());
    return ids;
}

TEST(Tome, EqualsAPlainWriting) {
    for (int special : {0, 1, 2}) {
        for (int n : {1, 2, 3, 17, 64, 131}) {
            for (int edges : {0, 1, 13, 400}) {
                const cv::Mat tokens = randomTokens(n, 24, n + special);
                const auto reducer = makeReducer("tome:r=" + std::to_string(edges));
                const MergeMap map = reducer->reduce({contextOf(tokens, special, 3, 3, {})}).front();
                EXPECT_EQ(map.ids, plainBipartite(toRows(tokens), special, std::min(edges, n / 2)))
                    << n << " tokens, " << special << " special, r = " << edges;
            }
        }
    }
}

TEST(Tome, FallingStartsAtTwiceAndEndsAtNone) {
    const cv::Mat tokens = randomTokens(200, 16, 1);
    const auto reducer = makeReducer("tome:r=11,schedule=falling");
    int last = 23, total = 0;
    for (int stage = 0; stage < 12; ++stage) {
        const MergeMap map = reducer->reduce({contextOf(tokens, 1, stage, stage, {})}).front();
        const int merged = map.tokens() - map.clusters;
        EXPECT_LT(merged, last);
        last = merged;
        total += merged;
    }
    EXPECT_EQ(last, 0);
    EXPECT_NEAR(total, 11 * 12, 8);
}

TEST(Algm, ATokenWithNaNStaysSingle) {
    cv::Mat tokens = randomMatrix(24, 16, 3);
    for (int t : {3, 8, 9})
        tokens.row(2).copyTo(tokens.row(t));
    tokens.at<float>(8, 5) = NAN;
    const MergeMap map = makeReducer("algm:tau=.4")->reduce({contextOf(tokens, 1, 0, 0, {6, 4})}).front();
    EXPECT_EQ(std::count(map.ids.begin(), map.ids.end(), map.ids[8]), 1);
}

TEST(Algm, MergesWindowsThatAreAlike) {
    const cv::Size grid(6, 4);
    cv::Mat tokens = randomMatrix(24, 16, 3);
    // Two windows have nearly parallel tokens: rows 0-1 of columns 2-3, and rows 2-3 of columns 4-5.
    const std::vector<std::vector<int>> windows = {{2, 3, 8, 9}, {16, 17, 22, 23}};
    for (const std::vector<int>& window : windows) {
        for (int t : window)
            tokens.row(t) = tokens.row(window[0]) * 1.5 + randomMatrix(1, 16, t, 0.01);
    }
    const MergeMap map = makeReducer("algm:tau=.9")->reduce({contextOf(tokens, 1, 0, 0, grid)}).front();
    EXPECT_EQ(map.clusters, 24 - 6);
    for (const std::vector<int>& window : windows) {
        for (int t : window)
            EXPECT_EQ(map.ids[t], map.ids[window[0]]);
        EXPECT_LT(map.ids[window[0]], 2) << "windows come before single tokens";
    }
    EXPECT_THROW(makeReducer("algm")->reduce({contextOf(tokens, 1, 0, 0, {})}), cv::Exception);
}

TEST(Algm, ThresholdOfTheSecondStageFollowsTheImage) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const cv::Mat tokens = randomTokens(90, 24, seed);
        const MergeMap map = makeReducer("algm")->reduce({contextOf(tokens, 1, 4, 1, {})}).front();
        // Counts the edges that ALGM merges, with plain loops: similarity >= mean + deviation / 5.
        const Rows rows = toRows(tokens);
        std::vector<double> best;
        for (int a = 1; a < 90; a += 2) {
            double highest = -2;
            for (int b = 0; b < 90; b += 2)
                highest = std::max(highest, cosine(rows[a], rows[b]));
            best.push_back(highest);
        }
        const double count = static_cast<double>(best.size());
        const double mean = std::accumulate(best.begin(), best.end(), 0.0) / count;
        double variance = 0;
        for (double b : best)
            variance += (b - mean) * (b - mean) / (count - 1);
        const double least = mean + std::sqrt(variance) / 5;
        const int edges =
            static_cast<int>(std::count_if(best.begin(), best.end(), [&](double b) { return b >= least; }));
        EXPECT_EQ(map.ids, plainBipartite(rows, 1, edges)) << "image " << seed;
    }
}

// Finds the most similar row within the window around each row, with plain loops. The lowest index wins ties.
std::vector<int> plainLocal(const Rows& image, const std::vector<cv::Point>& places, int window) {
    const int n = static_cast<int>(image.size());
    std::vector<int> nearest(n, -1);
    for (int i = 0; i < n; ++i) {
        double best = -3;
        for (int j = 0; j < n; ++j) {
            const cv::Point away = places[i] - places[j];
            if (i == j || std::max(std::abs(away.x), std::abs(away.y)) > window) continue;
            const double s = cosine(image[i], image[j]);
            if (s > best) best = s, nearest[i] = j;
        }
    }
    std::vector<int> ids(n);
    int clusters = 0;
    for (int i = 0; i < n; ++i) {
        const int j = nearest[i];
        ids[i] = j >= 0 && j < i && nearest[j] == i ? ids[j] : clusters++;
    }
    return ids;
}

TEST(LocalPairs, LookNoFurtherThanTheWindow) {
    for (int seed = 0; seed < 4; ++seed) {
        const cv::Size grid(11, 7);
        const cv::Mat tokens = randomTokens(grid.area(), 37, seed);
        std::vector<cv::Point> places;
        for (int i = 0; i < grid.area(); ++i)
            places.emplace_back(i % grid.width, i / grid.width);
        for (const int window : {1, 2, 5}) {
            const auto reducer = makeReducer("local:window=" + std::to_string(window));
            StageContext context = contextOf(tokens, 0, 2, 0, grid);
            const MergeMap first = reducer->reduce({context}).front();
            EXPECT_EQ(first.ids, plainLocal(toRows(tokens), places, window)) << window;
            // After a merge, each row has the position of its cluster's representative.
            const cv::Mat left = randomTokens(first.clusters, 37, seed + 10);
            std::vector<cv::Point> leftPlaces(first.clusters, {-1, -1});
            for (int i = 0; i < grid.area(); ++i)
                if (leftPlaces[first.ids[i]].x < 0) leftPlaces[first.ids[i]] = places[i];
            StageContext later = contextOf(left, 0, 5, 1, grid);
            later.composed = &first;
            EXPECT_EQ(reducer->reduce({later}).front().ids, plainLocal(toRows(left), leftPlaces, window));
        }
    }
}

TEST(LocalPairs, AWindowOverAllIsTheMethodItself) {
    const cv::Mat tokens = randomTokens(77, 37, 5);
    const StageContext context = contextOf(tokens, 0, 2, 0, {11, 7});
    EXPECT_EQ(makeReducer("local:window=10")->reduce({context}).front().ids,
              makeReducer("mpm")->reduce({context}).front().ids);
}

TEST(LocalPairs, OddTokensAndMissingGrids) {
    cv::Mat tokens = randomTokens(20, 8, 5);
    tokens.at<float>(3, 2) = NAN;
    tokens.row(4).setTo(0);
    const MergeMap map = makeReducer("local:window=1")->reduce({contextOf(tokens, 0, 2, 0, {5, 4})}).front();
    EXPECT_EQ(std::count(map.ids.begin(), map.ids.end(), map.ids[3]), 1)
        << "a token with NaN pairs with none";
    EXPECT_THROW(makeReducer("local")->reduce({contextOf(tokens, 0, 2, 0, {})}), cv::Exception);
}

TEST(Pooling, GridPoolsWindows) {
    const cv::Mat tokens = randomTokens(35, 4, 1);
    const MergeMap map = makeReducer("grid:size=2")->reduce({contextOf(tokens, 0, 2, 0, {7, 5})}).front();
    EXPECT_EQ(map.clusters, 12);
    EXPECT_EQ(map.ids[0], map.ids[8]);
    EXPECT_EQ(map.ids[34], 11);
}

TEST(Pooling, RandomKeepsItsShareAndItsSeed) {
    const cv::Mat tokens = randomTokens(100, 4, 1);
    const StageContext context = contextOf(tokens, 0, 2, 0, {});
    const MergeMap map = makeReducer("random:keep=0.7,seed=3")->reduce({context}).front();
    EXPECT_EQ(map.clusters, 70);
    EXPECT_EQ(map.ids, makeReducer("random:keep=0.7,seed=3")->reduce({context}).front().ids);
    EXPECT_NE(map.ids, makeReducer("random:keep=0.7,seed=4")->reduce({context}).front().ids);
}

struct Ran {
    cv::Mat output;
    Report report;
};

Ran run(const EncoderCase& encoder, const std::string& method, const cv::Mat& batch) {
    EncoderConfig config = encoder.config;
    config.grid = cv::Size(12, 8);
    const auto control = std::make_shared<EncoderControl>(config);
    control->change([&](Settings& s) { s.method = method; });
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    std::vector<cv::Mat> outputs(1);
    outputs[0].create(3, batch.size.p, CV_32F);
    runner.run(batch, cv::Mat(), outputs);
    return {outputs[0], control->report()};
}

class EveryReducer : public testing::TestWithParam<std::string> {
protected:
    EveryReducer() {
        EncoderOptions o;
        o.blocks = 6, o.schedule = {1, 3}, o.imageTokens = 96;
        m_encoder = makeEncoder(o);
        m_batch = makeBatch(o, 3, 96, 5);
    }
    EncoderCase m_encoder;
    cv::Mat m_batch;
};

// All reducers except ALGM's batch mode, in which the result of an image depends on the batch.
class IndependentReducer : public EveryReducer {};

TEST_P(EveryReducer, MapsAreWholeAndComposed) {
    const Ran ran = run(m_encoder, GetParam(), m_batch);
    EXPECT_TRUE(cv::checkRange(ran.output.reshape(1, 1)));
    for (const ImageReport& image : ran.report.images) {
        MergeMap composed = identityMap(96);
        for (const Stage& stage : image.stages)
            composed = compose(composed, toMergeMap(stage.map, "stage"));
        EXPECT_TRUE(sameBits(toMat(composed), image.map));
        EXPECT_EQ(image.stages.back().tokens, composed.clusters);
        EXPECT_LT(composed.clusters, 96);
    }
}

TEST_P(IndependentReducer, ImagesDoNotInfluenceEachOther) {
    const Ran whole = run(m_encoder, GetParam(), m_batch);
    for (int i = 0; i < 3; ++i) {
        const Ran single = run(m_encoder, GetParam(), batchOfOne(m_batch, i));
        EXPECT_TRUE(sameBits(imageOf(whole.output, i), imageOf(single.output, 0))) << "image " << i;
    }
}

std::string testName(const testing::TestParamInfo<std::string>& one) {
    std::string name = one.param;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
    return name;
}

const auto kIndependent =
    testing::Values("mpm", "gentle", "mpm:pairs=9,by=last-keys", "mpm:mean=weighted",
                    "mpm:mean=weighted,attention=proportional", "mpm:mean=scaled,before=mlp", "tome:r=7",
                    "tome:r=5,schedule=falling", "tome:r=9,attention=plain", "algm:tau=0.3", "local:window=2",
                    "local:window=20", "random", "grid");
INSTANTIATE_TEST_SUITE_P(All, EveryReducer, kIndependent, testName);
INSTANTIATE_TEST_SUITE_P(Batchwise, EveryReducer, testing::Values("algm:batch=least"), testName);
INSTANTIATE_TEST_SUITE_P(All, IndependentReducer, kIndependent, testName);

TEST(Methods, NumbersMeanTheSameInEveryLanguage) {
    const CommaLocale comma;
    for (const char* method : {"algm:tau=.9", "algm:tau=0.9", "algm:tau=+.9", "algm:tau=9e-1", "tome:r=+13"})
        EXPECT_NO_THROW(makeReducer(method)) << method;
    expectRefusal([] { makeReducer("algm:tau=-1.5"); }, "tau=-1.5; expected a number in -1..1");
    expectRefusal([] { makeReducer("algm:tau=+-.5"); }, "tau=+-.5");
    expectRefusal([] { makeReducer("algm:tau=.9x"); }, "tau=.9x");
}

/// Returns the parameter as docs/reference/reducers.md must write it: "`window` (8)" or
/// "`mean` = `plain`, `weighted`".
std::string documented(const ReducerParameter& parameter) {
    const bool number = parameter.values.find("..") != std::string::npos;
    if (parameter.name == "pairs") return "`pairs` = `all`, a share, a count";
    if (number) return "`" + parameter.name + "` (" + parameter.fallback + ")";
    std::string words;
    for (char c : parameter.values)
        words += c == ',' ? "`," : c == ' ' ? " `" : std::string(1, c);
    return "`" + parameter.name + "` = `" + words + "`";
}

TEST(Registry, IsWhatTheDocumentLists) {
    std::ifstream file(MPM_SOURCE_DIR "/docs/reference/reducers.md");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::vector<ReducerInfo> all = mpm::reducers();
    ASSERT_EQ(all.front().name, "mpm");
    for (const ReducerInfo& reducer : all) {
        std::string row = "| `" + reducer.name + "` |";
        for (const ReducerParameter& parameter : reducer.parameters)
            row += (&parameter == &reducer.parameters.front() ? " " : "; ") + documented(parameter);
        EXPECT_NE(text.find("\n" + row + " |"), std::string::npos) << row;
        EXPECT_NO_THROW(makeReducer(reducer.name)) << reducer.name;
        EXPECT_FALSE(reducer.description.empty()) << reducer.name;
    }
}

TEST(Registry, KnowsTheCostOfMatching) {
    const MatchingSize size{100, 64, 16};
    EXPECT_EQ(matchingCost("none", size), 0);
    EXPECT_EQ(matchingCost("mpm", size), 100 * 99 * 64);
    EXPECT_EQ(matchingCost("mpm:mean=weighted", size), 100 * 99 * 64);
    EXPECT_EQ(matchingCost("tome:r=5", size), 2 * 50 * 50 * 16);
    EXPECT_EQ(matchingCost("algm", size), 2 * 50 * 50 * 64);
    EXPECT_EQ(matchingCost("local:window=1", size), 100 * 8 * 64);
    EXPECT_EQ(matchingCost("local:window=8", size), 100 * 99 * 64);
    EXPECT_EQ(matchingCost("grid", size), 0);
    expectRefusal([&] { matchingCost("cts", size); },
                  "expected none, mpm, gentle, tome, algm, local, random or grid");
    expectRefusal([&] { matchingCost("mpm:r=1", size); }, "'r'");
}

TEST(Methods, WrongOnesAreNamed) {
    for (const auto& [method, word] :
         std::vector<std::pair<std::string, std::string>>{{"tome:r=-1", "r=-1"},
                                                          {"tome:r=1.5", "whole"},
                                                          {"tome:q=1", "'q'"},
                                                          {"algm:tau=2", "tau=2"},
                                                          {"algm:tau=x", "tau=x"},
                                                          {"mpm:mean=odd", "mean=odd"},
                                                          {"tome:r", "KEY=VALUE"},
                                                          {"tome:", "KEY=VALUE"},
                                                          {"tome:r=3,", "KEY=VALUE"},
                                                          {"tome:,r=3", "KEY=VALUE"},
                                                          {"tome:r=3,r=4", "has r twice"},
                                                          {"", "not known"},
                                                          {"cts", "not known"},
                                                          {"local:window=0", "window=0"},
                                                          {"grid:size=0", "size=0"}}) {
        try {
            makeReducer(method);
            ADD_FAILURE() << method << " was accepted";
        } catch (const cv::Exception& e) {
            EXPECT_NE(e.err.find(word), std::string::npos) << e.err;
        }
    }
}

}  // namespace
}  // namespace mpm::test

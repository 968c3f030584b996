// Tests merging: checks each property of the method, compares with the scalar oracle, tries extreme values.
#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <opencv2/core/utility.hpp>

#include <mpm/mpm.hpp>

#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace mpm::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
// If two similarities differ by at most this value, rounding may decide which is larger.
constexpr double kMargin = 1e-6;

std::vector<int> ids(const cv::Mat& map) {
    return map.empty() ? std::vector<int>() : std::vector<int>(map.ptr<int>(), map.ptr<int>() + map.total());
}

int clustersOf(const std::vector<int>& map) {
    return map.empty() ? 0 : *std::max_element(map.begin(), map.end()) + 1;
}

// Checks properties that every result has, for any tokens.
void checkShape(const cv::Mat& tokens, const Merged& merged, int special) {
    const int n = tokens.rows - special;
    ASSERT_EQ(merged.map.type(), CV_32S);
    ASSERT_EQ(static_cast<int>(merged.map.total()), n);
    const std::vector<int> map = ids(merged.map);
    const int clusters = clustersOf(map);
    ASSERT_EQ(merged.tokens.rows, special + clusters);
    EXPECT_GE(clusters, (n + 1) / 2);
    std::vector<int> members(clusters, 0);
    int next = 0;
    for (int id : map) {
        ASSERT_GE(id, 0);
        ASSERT_LE(id, next) << "ids count representatives from left to right";
        next = std::max(next, id + 1);
        ASSERT_LE(++members[id], 2) << "a cluster is a token or a pair";
    }
    for (int s = 0; s < special; ++s)
        EXPECT_TRUE(sameBits(merged.tokens.row(s), tokens.row(s)));
}

// Each token's partner must equal the oracle's partner, unless the two best similarities of the token or of a
// partner are nearly equal. Means must equal the oracle's means for the same map.
void checkAgainstOracle(const cv::Mat& tokens, const Merged& merged, int special) {
    const Rows rows = toRows(tokens.rowRange(special, tokens.rows));
    const OracleMerge expected = oracleMerge(rows);
    const std::vector<int> map = ids(merged.map), actual = partners(map), wanted = partners(expected.map);
    for (size_t i = 0; i < actual.size(); ++i) {
        if (actual[i] == wanted[i]) continue;
        const double margin =
            std::min({expected.margin[i], expected.margin[actual[i]], expected.margin[wanted[i]]});
        EXPECT_LE(margin, kMargin) << "token " << i << " of " << actual.size();
    }
    const Rows means = oracleMean(rows, map, clustersOf(map));
    for (size_t c = 0; c < means.size(); ++c) {
        for (int k = 0; k < tokens.cols; ++k) {
            const float mean = merged.tokens.at<float>(special + static_cast<int>(c), k);
            ASSERT_EQ(mean, static_cast<float>(means[c][k])) << "cluster " << c << " column " << k;
        }
    }
}

struct Size {
    int tokens, dim;
};

class MergeSizes : public testing::TestWithParam<Size> {};

TEST_P(MergeSizes, EqualsTheOracle) {
    const auto [n, dim] = GetParam();
    for (int special : {0, 1, 2, 5}) {
        const cv::Mat tokens = randomTokens(special + n, dim, 17 * n + dim + special);
        const Merged merged = mergeTokens(tokens, special);
        checkShape(tokens, merged, special);
        EXPECT_LE(merged.tokens.rows - special, n < 2 ? n : n - 1);
        checkAgainstOracle(tokens, merged, special);
        if (n * dim > 300000) break;
    }
}

std::vector<Size> sizes() {
    std::vector<Size> all;
    for (int n : {0, 1, 2, 3, 5, 11, 12, 13, 31, 32, 33, 47, 48, 49, 63, 64, 65, 97}) {
        for (int dim : {1, 3, 16, 192, 193})
            all.push_back({n, dim});
    }
    for (const Size& s : {Size{1023, 64}, {1025, 65}, {400, 768}, {257, 1024}, {129, 385}})
        all.push_back(s);
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, MergeSizes, testing::ValuesIn(sizes()), [](const auto& one) {
    return std::to_string(one.param.tokens) + "x" + std::to_string(one.param.dim);
});

TEST(Merge, ThousandsOfSmallCases) {
    std::mt19937 random(1);
    for (int i = 0; i < 4000; ++i) {
        const int n = std::uniform_int_distribution<int>(0, 24)(random),
                  dim = std::uniform_int_distribution<int>(1, 9)(random);
        const int special = std::uniform_int_distribution<int>(0, 3)(random);
        const cv::Mat tokens = randomMatrix(special + n, dim, i);
        const Merged merged = mergeTokens(tokens, special);
        checkShape(tokens, merged, special);
        checkAgainstOracle(tokens, merged, special);
        if (HasFailure()) FAIL() << "case " << i;
    }
}

TEST(Merge, SmallIntegersTieOften) {
    // Random coordinates -1, 0 and 1 in four dimensions give equal, opposite and zero rows, and many ties.
    std::mt19937 random(2);
    for (int i = 0; i < 2000; ++i) {
        const int n = std::uniform_int_distribution<int>(2, 80)(random);
        cv::Mat tokens(n, 4, CV_32F);
        for (float& v : cv::Mat_<float>(tokens))
            v = static_cast<float>(std::uniform_int_distribution<int>(-1, 1)(random));
        const Merged merged = mergeTokens(tokens, 0);
        checkShape(tokens, merged, 0);
        checkAgainstOracle(tokens, merged, 0);
        EXPECT_LE(merged.tokens.rows, n - 1);
        if (HasFailure()) FAIL() << "case " << i;
    }
}

TEST(Merge, LowestIndexWinsTiesAcrossTiles) {
    // There are three copies of each token, in different tiles. The copy with the lowest index must win.
    for (int n : {64, 200, 1000}) {
        cv::Mat half = randomMatrix(n, 48, n), tokens;
        cv::vconcat(std::vector<cv::Mat>{half, half, half}, tokens);
        const std::vector<int> map = ids(mergeTokens(tokens, 0).map);
        for (int i = 0; i < n; ++i) {
            EXPECT_EQ(map[i], i);
            EXPECT_EQ(map[n + i], i) << "the first copy pairs with the second";
            EXPECT_EQ(map[2 * n + i], n + i) << "the third stays alone";
        }
    }
}

TEST(Merge, IdenticalTokensGiveOnePair) {
    for (int n : {2, 3, 64, 65, 1025}) {
        const cv::Mat tokens(n, 192, CV_32F, cv::Scalar(0.37));
        const std::vector<int> map = ids(mergeTokens(tokens, 0).map);
        EXPECT_EQ(clustersOf(map), n - 1);
        EXPECT_EQ(map[1], 0);
    }
}

TEST(Merge, ZeroTokensHaveSimilarityZero) {
    const std::vector<int> all = ids(mergeTokens(cv::Mat::zeros(9, 8, CV_32F), 0).map);
    EXPECT_EQ(clustersOf(all), 8);
    EXPECT_EQ(all[1], 0);
    // A zero token (similarity 0) is a better partner than an opposite token (similarity -1).
    cv::Mat tokens = (cv::Mat_<float>(3, 2) << 1, 0, -1, 0, 0, 0);
    EXPECT_EQ(ids(mergeTokens(tokens, 0).map), (std::vector<int>{0, 1, 0}));
}

class MergeScales : public testing::TestWithParam<float> {};

TEST_P(MergeScales, PairsAsOnesDo) {
    const cv::Mat tokens = randomTokens(130, 192, 5);
    double largest = cv::norm(tokens, cv::NORM_INF);
    const cv::Mat scaled = tokens * (GetParam() / largest);
    const Merged merged = mergeTokens(scaled, 1);
    checkShape(scaled, merged, 1);
    checkAgainstOracle(scaled, merged, 1);
    EXPECT_EQ(merged.tokens.rows, mergeTokens(tokens, 1).tokens.rows);
    EXPECT_TRUE(cv::checkRange(merged.tokens));
}

INSTANTIATE_TEST_SUITE_P(All, MergeScales, testing::Values(1e-30f, 1e-20f, 1e20f, 1e30f, 3e38f));

TEST(Merge, MixedScalesPair) {
    cv::Mat tokens = randomTokens(200, 64, 6);
    const float scales[] = {1e-38f, 1e-30f, 1.0f, 1e30f, 1e37f};
    for (int r = 0; r < tokens.rows; ++r)
        tokens.row(r) *= scales[r % 5];
    const Merged merged = mergeTokens(tokens, 0);
    checkShape(tokens, merged, 0);
    checkAgainstOracle(tokens, merged, 0);
}

TEST(Merge, DenormalsPair) {
    const float tiny = std::numeric_limits<float>::denorm_min();
    const cv::Mat tokens = (cv::Mat_<float>(4, 2) << tiny, 0, 0, 5 * tiny, 3 * tiny, 0, tiny, 7 * tiny);
    const Merged merged = mergeTokens(tokens, 0);
    EXPECT_EQ(ids(merged.map), (std::vector<int>{0, 1, 0, 1}));
    EXPECT_EQ(merged.tokens.at<float>(0, 0), 2 * tiny);
    EXPECT_EQ(merged.tokens.at<float>(1, 1), 6 * tiny);
}

TEST(Merge, LargestValuesHaveFiniteMeans) {
    const float huge = std::numeric_limits<float>::max();
    const cv::Mat tokens(2, 3, CV_32F, cv::Scalar(huge));
    const Merged merged = mergeTokens(tokens, 0);
    ASSERT_EQ(merged.tokens.rows, 1);
    EXPECT_EQ(merged.tokens.at<float>(0, 2), huge);
}

TEST(Merge, TokensThatAreNotFinitePassThrough) {
    for (float poison : {kNaN, kInf, -kInf}) {
        for (int at : {0, 31, 32, 64, 129}) {
            cv::Mat tokens = randomTokens(130, 24, at);
            tokens.at<float>(at, 7) = poison;
            const Merged merged = mergeTokens(tokens, 0);
            checkShape(tokens, merged, 0);
            const std::vector<int> map = ids(merged.map);
            EXPECT_EQ(std::count(map.begin(), map.end(), map[at]), 1);
            EXPECT_TRUE(sameBits(merged.tokens.row(map[at]), tokens.row(at)));
            // The other tokens must pair as they do without token `at`.
            cv::Mat rest;
            std::vector<cv::Mat> parts;
            if (at > 0) parts.push_back(tokens.rowRange(0, at));
            if (at + 1 < tokens.rows) parts.push_back(tokens.rowRange(at + 1, tokens.rows));
            cv::vconcat(parts, rest);
            std::vector<int> without = partners(ids(mergeTokens(rest, 0).map)), with = partners(map);
            with.erase(with.begin() + at);
            for (int& p : with)
                p -= p > at ? 1 : 0;
            EXPECT_EQ(with, without);
        }
    }
}

TEST(Merge, AllPoisonedStaysAsItIs) {
    const cv::Mat tokens(7, 5, CV_32F, cv::Scalar(kNaN));
    const Merged merged = mergeTokens(tokens, 2);
    EXPECT_EQ(ids(merged.map), (std::vector<int>{0, 1, 2, 3, 4}));
    EXPECT_TRUE(sameBits(merged.tokens, tokens));
}

TEST(Merge, SameBitsForAnyThreadCountAndEveryRun) {
    const cv::Mat tokens = randomTokens(1025, 192, 8);
    const int threads = cv::getNumThreads();
    const Merged first = mergeTokens(tokens, 1);
    for (int count : {1, 2, 5}) {
        cv::setNumThreads(count);
        for (int repeat = 0; repeat < 34; ++repeat) {
            const Merged again = mergeTokens(tokens, 1);
            ASSERT_TRUE(sameBits(again.map, first.map) && sameBits(again.tokens, first.tokens))
                << count << " threads";
        }
    }
    cv::setNumThreads(threads);
}

TEST(Merge, RowsThatAreNotContiguous) {
    const cv::Mat wide = randomTokens(70, 40, 9);
    const cv::Mat part = wide.colRange(3, 27);
    EXPECT_TRUE(sameBits(mergeTokens(part, 1).tokens, mergeTokens(part.clone(), 1).tokens));
}

TEST(Restore, IsACopyOfEachCluster) {
    const cv::Mat tokens = randomTokens(91, 33, 10);
    const Merged merged = mergeTokens(tokens, 2);
    const cv::Mat full = restoreTokens(merged.tokens, merged.map, 2);
    ASSERT_EQ(full.rows, tokens.rows);
    for (int r = 0; r < full.rows; ++r) {
        const int from = r < 2 ? r : 2 + merged.map.at<int>(r - 2);
        EXPECT_TRUE(sameBits(full.row(r), merged.tokens.row(from)));
    }
}

TEST(Restore, OfNothingIsTheSpecialTokens) {
    const cv::Mat tokens = randomTokens(2, 8, 3);
    const Merged merged = mergeTokens(tokens, 2);
    EXPECT_EQ(merged.map.total(), 0u);
    EXPECT_TRUE(sameBits(restoreTokens(merged.tokens, merged.map, 2), tokens));
    const cv::Mat both = composeMaps(merged.map, merged.map);
    EXPECT_EQ(both.total(), 0u);
    EXPECT_EQ(both.type(), CV_32S);
}

TEST(Compose, IndexesOneMapByTheOther) {
    const cv::Mat tokens = randomTokens(60, 16, 11);
    const Merged first = mergeTokens(tokens, 0), second = mergeTokens(first.tokens, 0);
    const cv::Mat both = composeMaps(first.map, second.map);
    for (int i = 0; i < 60; ++i)
        EXPECT_EQ(both.at<int>(i), second.map.at<int>(first.map.at<int>(i)));
    EXPECT_TRUE(sameBits(restoreTokens(second.tokens, both, 0),
                         restoreTokens(restoreTokens(second.tokens, second.map, 0), first.map, 0)));
}

// Wrong arguments are rejected with a message that names the argument.
TEST(WrongUse, OfTokens) {
    const int cube[] = {2, 3, 4};
    expectRefusal([] { mergeTokens(cv::Mat(), 0); }, "tokens");
    expectRefusal([] { mergeTokens(cv::Mat(4, 3, CV_64F), 0); }, "tokens");
    expectRefusal([] { mergeTokens(cv::Mat(4, 3, CV_8U), 0); }, "tokens");
    expectRefusal([&] { mergeTokens(cv::Mat(3, cube, CV_32F), 0); }, "tokens");
    expectRefusal([] { mergeTokens(cv::Mat(4, 0, CV_32F), 0); }, "tokens");
    expectRefusal([] { mergeTokens(cv::Mat(4, 3, CV_32FC2), 0); }, "tokens");
    expectRefusal([] { mergeTokens(randomMatrix(4, 3, 1), 5); }, "special");
    expectRefusal([] { mergeTokens(randomMatrix(4, 3, 1), -1); }, "special");
}

TEST(WrongUse, OfMaps) {
    const cv::Mat tokens = randomMatrix(4, 3, 1);
    expectRefusal([&] { restoreTokens(tokens, (cv::Mat_<int>(1, 2) << 0, 4), 0); }, "map");
    expectRefusal([&] { restoreTokens(tokens, (cv::Mat_<int>(1, 2) << 0, -1), 0); }, "map");
    expectRefusal([&] { restoreTokens(tokens, (cv::Mat_<int>(1, 2) << 0, 3), 1); }, "map");
    expectRefusal([&] { restoreTokens(tokens, cv::Mat(1, 2, CV_32F), 0); }, "map");
    for (const cv::Mat& none : {cv::Mat(), cv::Mat(1, 0, CV_32F), cv::Mat(1, 0, CV_8U)}) {
        expectRefusal([&] { restoreTokens(tokens, none, 0); }, "map must be CV_32S");
        expectRefusal([&] { composeMaps(none, cv::Mat(1, 0, CV_32S)); }, "first must be CV_32S");
        expectRefusal([&] { composeMaps(cv::Mat(1, 0, CV_32S), none); }, "second must be CV_32S");
    }
    expectRefusal([] { composeMaps((cv::Mat_<int>(1, 2) << 0, 1), (cv::Mat_<int>(1, 1) << 0)); }, "second");
    expectRefusal([] { composeMaps((cv::Mat_<int>(1, 2) << 0, 2), (cv::Mat_<int>(1, 3) << 0, 1, 2)); },
                  "first");
    expectRefusal([] { composeMaps((cv::Mat_<int>(1, 3) << 0, 2, 2), (cv::Mat_<int>(1, 3) << 0, 1, 2)); },
                  "leaves out");
}

}  // namespace
}  // namespace mpm::test

#include "models/torch/model/reducer.hpp"

#include <limits>

#include <gtest/gtest.h>

using namespace mpm::models;

namespace {

std::vector<int64_t> mapOf(const torch::Tensor& tokens) {
    const auto map = mutualPairMap(tokens);
    return {map.data_ptr<int64_t>(), map.data_ptr<int64_t>() + map.numel()};
}

using Map = std::vector<int64_t>;

TEST(Reducer, PairsAreMutual) {
    // Tokens 0 and 2 are a mutual pair, and so are tokens 3 and 4. Token 1 is most similar to token 0, but
    // token 0 is most similar to token 2.
    const auto tokens =
        torch::tensor({{1.0f, 0.0f}, {0.9f, 0.4f}, {1.0f, 0.05f}, {-1.0f, 0.2f}, {-1.0f, 0.25f}});
    EXPECT_EQ(mapOf(tokens), (Map{0, 1, 0, 2, 2}));
}

TEST(Reducer, IdenticalTokensGiveOnePair) {
    EXPECT_EQ(mapOf(torch::ones({6, 4})), (Map{0, 0, 1, 2, 3, 4}));
}

TEST(Reducer, FewTokens) {
    EXPECT_EQ(mapOf(torch::empty({0, 4})), Map{});
    EXPECT_EQ(mapOf(torch::ones({1, 4})), Map{0});
    EXPECT_EQ(mapOf(torch::randn({2, 4})), (Map{0, 0}));
}

TEST(Reducer, ScaleDoesNotMatter) {
    torch::manual_seed(1);
    const auto tokens = torch::randn({40, 16});
    EXPECT_EQ(mapOf(tokens * 1e30), mapOf(tokens));
    EXPECT_EQ(mapOf(tokens * 1e-30), mapOf(tokens));
}

TEST(Reducer, DamagedTokensPassThrough) {
    auto tokens = torch::ones({4, 3});
    tokens[0][1] = std::numeric_limits<float>::quiet_NaN();
    tokens[2][0] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(mapOf(tokens), (Map{0, 1, 2, 1}));
}

TEST(Reducer, ZeroTokensHaveSimilarityZero) {
    const auto tokens = torch::tensor({{0.0f, 0.0f}, {1.0f, 0.0f}, {-1.0f, 0.0f}});
    EXPECT_EQ(mapOf(tokens), (Map{0, 0, 1}));  // token 1: similarity 0 to token 0, but -1 to token 2
}

TEST(Reducer, CountsStayWithinTheBounds) {
    torch::manual_seed(2);
    for (int64_t count : {2, 3, 7, 64, 301}) {
        const auto map = mutualPairMap(torch::randn({count, 8}));
        const auto clusters = map.max().item<int64_t>() + 1;
        EXPECT_GE(clusters, (count + 1) / 2);
        EXPECT_LE(clusters, count - 1);
    }
}

TEST(Reducer, MeansArePlainAndDoNotOverflow) {
    const auto tokens = torch::tensor({{3e38f, 2.0f}, {1.0f, 1.0f}, {3e38f, 4.0f}});
    const auto means = clusterMeans(tokens, torch::tensor({0, 1, 0}, torch::kInt64));
    EXPECT_TRUE(torch::allclose(means, torch::tensor({{3e38f, 3.0f}, {1.0f, 1.0f}})));
}

Map valuesOf(const torch::Tensor& map) {
    return {map.data_ptr<int64_t>(), map.data_ptr<int64_t>() + map.numel()};
}

TEST(Reducer, EvenPositionsLookForOddOnes) {
    // After a special token, rows 1 and 3 are at even positions. Row 1 is most similar to row 2, row 3 to row
    // 4.
    const auto tokens =
        torch::tensor({{1.0f, 0.0f}, {0.1f, 1.0f}, {0.0f, 1.0f}, {-1.0f, 0.0f}, {-1.0f, 0.3f}});
    EXPECT_EQ(valuesOf(alternatingMap(tokens, 1, int64_t{1})), (Map{1, 2, 2, 0, 3}));
    EXPECT_EQ(valuesOf(alternatingMap(tokens, 1, int64_t{2})), (Map{0, 1, 1, 2, 2}));
    EXPECT_EQ(valuesOf(alternatingMap(tokens, 1, int64_t{0})), (Map{2, 0, 3, 1, 4}));
    // After two special tokens, rows 0, 2 and 4 are at even positions.
    EXPECT_EQ(valuesOf(alternatingMap(tokens, 2, int64_t{1})), (Map{0, 2, 2, 3, 1}));
}

TEST(Reducer, ThresholdFollowsTheSimilarities) {
    // The sources are rows 1 and 3. Their similarities to the nearest targets are 0 and 1, so the mean is 0.5
    // and the deviation 0.71.
    const auto tokens = torch::tensor({{1.0f, 0.0f}, {0.0f, -1.0f}, {0.0f, 1.0f}, {1.0f, 0.0f}});
    EXPECT_EQ(valuesOf(alternatingMap(tokens, 1, 0.5)).size(), 4u);
    EXPECT_EQ(alternatingMap(tokens, 1, 0.5).max().item<int64_t>(), 2);
    EXPECT_EQ(alternatingMap(tokens, 1, 1.0).max().item<int64_t>(), 3);
    EXPECT_EQ(alternatingMap(tokens, 1, -1.0).max().item<int64_t>(), 1);
}

TEST(Reducer, WindowsMergeWholeTheMostSimilarFirst) {
    // Two windows are side by side. The tokens of the left window are partly alike, the tokens of the right
    // window are equal. The fifth column has no window.
    auto grid = torch::zeros({2, 5, 2});
    grid.select(2, 0).fill_(1);
    grid[0][0][1] = 1;
    const auto tokens = grid.reshape({10, 2});
    EXPECT_EQ(valuesOf(windowMap(tokens, 2, 5, 0.5)), (Map{1, 1, 0, 0, 2, 1, 1, 0, 0, 3}));
    EXPECT_EQ(valuesOf(windowMap(tokens, 2, 5, 0.99)), (Map{1, 2, 0, 0, 3, 4, 5, 0, 0, 6}));
    EXPECT_EQ(windowMap(tokens, 2, 5, 1.1).max().item<int64_t>(), 9);
}

TEST(Reducer, MeansAreWeighedBySizeWhereGiven) {
    const auto tokens = torch::tensor({{1.0f, 0.0f}, {5.0f, 4.0f}, {2.0f, 2.0f}});
    const auto map = torch::tensor({0, 0, 1}, torch::kInt64), sizes = torch::tensor({3.0f, 1.0f, 2.0f});
    EXPECT_TRUE(
        torch::allclose(clusterMeans(tokens, map, sizes), torch::tensor({{2.0f, 1.0f}, {2.0f, 2.0f}})));
    EXPECT_TRUE(torch::equal(clusterSizes(sizes, map), torch::tensor({4.0f, 2.0f})));
}

TEST(Reducer, UnknownMethodsAreRefused) {
    EXPECT_ANY_THROW((ReducerSettings{"atom", {}}.reduces()));
    EXPECT_FALSE((ReducerSettings{"mpm", {}}.reduces()));
}

}  // namespace

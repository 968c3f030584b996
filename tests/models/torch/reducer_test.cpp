#include "models/torch/reducer.hpp"

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
    // 0 and 2 choose each other; 1 prefers 0, which is taken; 3 and 4 choose each other.
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
    EXPECT_EQ(mapOf(tokens), (Map{0, 0, 1}));  // zero is nearer to 1 than its opposite is
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

}  // namespace

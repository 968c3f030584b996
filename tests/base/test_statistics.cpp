#include "base/statistics.hpp"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "base/stopwatch.hpp"

using namespace mpm;

namespace {

TEST(Statistics, QuantilesLieBetweenNeighbours) {
    const std::vector<double> values{4, 1, 3, 2};
    EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
    EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
    EXPECT_DOUBLE_EQ(quantile(values, 0.9), 3.7);
    EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
    EXPECT_DOUBLE_EQ(quantile({7}, 0.3), 7);
    EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(Statistics, ARateIsWorkOverTotalTime) {
    const Rate even = rateOf({1, 1, 1}, {10, 10, 10});
    EXPECT_DOUBLE_EQ(even.perSecond, 100);
    EXPECT_NEAR(even.standardError, 0, 1e-9);
    // The rate is all images divided by the total time. The mean of the rates (100, 100, 10) would be 70.
    const Rate slow = rateOf({1, 1, 1}, {10, 10, 100});
    EXPECT_DOUBLE_EQ(slow.perSecond, 25);
    EXPECT_NEAR(slow.standardError, 1000 * (3.0 / 120) * std::sqrt(2700.0) / 40 / std::sqrt(3.0), 1e-9);
    EXPECT_DOUBLE_EQ(rateOf({8, 1}, {40, 10}).perSecond, 180);
    EXPECT_TRUE(std::isnan(rateOf({1}, {10}).standardError));
    EXPECT_TRUE(std::isnan(rateOf({}, {}).perSecond));
}

TEST(Statistics, DeviationIsOfTheSample) {
    EXPECT_DOUBLE_EQ(mean({1, 2, 6}), 3);
    EXPECT_DOUBLE_EQ(deviation({1, 2, 6}), std::sqrt(7.0));
    EXPECT_DOUBLE_EQ(deviation({5}), 0);
    EXPECT_TRUE(std::isnan(mean({})));
}

TEST(Stopwatch, MeasuresFromItsRestart) {
    Stopwatch watch;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double first = watch.seconds();
    EXPECT_GE(first, 0.02);
    EXPECT_GE(watch.milliseconds(), 1000 * first);
    watch.restart();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_GT(watch.milliseconds(), 0.9);
}

}  // namespace

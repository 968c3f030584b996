#include <gtest/gtest.h>

#include "pipeline/daynight/day_night.hpp"

namespace mpm::pipeline {
namespace {

using Clock = std::chrono::system_clock;
using By = DayNightRule::By;
using std::chrono::seconds;

Clock::time_point at(long secondsSince1970) {
    return Clock::time_point(seconds(secondsSince1970));
}

TEST(Luminance, IsTheMedianSoThatLampsDoNotMakeADay) {
    EXPECT_DOUBLE_EQ(luminance(cv::Mat(2, 2, CV_8UC3, cv::Scalar(0, 0, 0))), 0);
    EXPECT_NEAR(luminance(cv::Mat(2, 2, CV_8UC3, cv::Scalar(255, 255, 255))), 1, 1e-12);
    EXPECT_GT(luminance(cv::Mat(2, 2, CV_8UC3, cv::Scalar(0, 255, 0))), 0.5);
    EXPECT_LT(luminance(cv::Mat(2, 2, CV_8UC3, cv::Scalar(255, 0, 0))), 0.2);
    cv::Mat street(10, 10, CV_8U, cv::Scalar(20));
    street.rowRange(0, 4) = 255;
    EXPECT_NEAR(luminance(street), 20 / 255.0, 1e-12);
    EXPECT_NEAR(luminance(cv::Mat(2, 2, CV_8U, cv::Scalar(51))), 0.2, 1e-12);
    EXPECT_THROW(luminance(cv::Mat()), cv::Exception);
    EXPECT_THROW(luminance(cv::Mat(2, 2, CV_32F)), cv::Exception);
}

TEST(Saturation, IsThatOfTheMostColourfulTenth) {
    EXPECT_EQ(saturation(cv::Mat(480, 640, CV_8U, cv::Scalar(90))), 0);
    EXPECT_EQ(saturation(cv::Mat(480, 640, CV_8UC3, cv::Scalar(90, 90, 90))), 0);
    cv::Mat street(480, 640, CV_8UC3, cv::Scalar(120, 118, 116));
    EXPECT_NEAR(saturation(street), 4 / 255.0, 1e-12);
    street.colRange(0, 80) = cv::Scalar(40, 90, 140);  // an eighth of the image has colour
    EXPECT_NEAR(saturation(street), 100 / 255.0, 1e-12);
    street.colRange(10, 80) = cv::Scalar(120, 118, 116);  // a single red lamp must not count as day
    EXPECT_NEAR(saturation(street), 4 / 255.0, 1e-12);
    EXPECT_THROW(saturation(cv::Mat()), cv::Exception);
    EXPECT_THROW(saturation(cv::Mat(2, 2, CV_32F)), cv::Exception);
}

// By night, an infrared lamp makes the image bright, but grey.
TEST(DayNight, InfraredIsNight) {
    DayNightRule rule;
    rule.by = By::Infrared;
    DayNight judge(rule);
    EXPECT_EQ(judge.update(0.4, at(0), 0.3), Phase::Day);
    EXPECT_EQ(judge.update(0.4, at(1), 0.01), Phase::Day);
    EXPECT_EQ(judge.update(0.7, at(6), 0.01), Phase::Night) << "held for five seconds";
    EXPECT_EQ(judge.update(0.9, at(20), 0.05), Phase::Night) << "between the thresholds";
    EXPECT_EQ(judge.update(0.05, at(30), 0.2), Phase::Night);
    EXPECT_EQ(judge.update(0.05, at(35), 0.2), Phase::Day);
    rule.coloured = rule.grey;
    EXPECT_THROW(DayNight{rule}, cv::Exception);
}

TEST(DayNight, FirstImageDecidesAtOnce) {
    EXPECT_EQ(DayNight().update(0.05, at(0)), Phase::Night);
    EXPECT_EQ(DayNight().update(0.90, at(0)), Phase::Day);
}

TEST(DayNight, ALorryPassingDoesNotFlip) {
    DayNight judge;
    judge.update(0.5, at(0));
    EXPECT_EQ(judge.update(0.1, at(10)), Phase::Day);
    EXPECT_EQ(judge.update(0.5, at(12)), Phase::Day);
    EXPECT_EQ(judge.update(0.1, at(14)), Phase::Day);
    EXPECT_EQ(judge.update(0.1, at(18)), Phase::Day);
    EXPECT_EQ(judge.update(0.1, at(19)), Phase::Night);
    EXPECT_EQ(judge.flips(), 1);
}

TEST(DayNight, BetweenTheThresholdsNothingChanges) {
    DayNight judge;
    judge.update(0.5, at(0));
    for (int t = 1; t < 100; ++t)
        EXPECT_EQ(judge.update(0.20, at(t)), Phase::Day);
    judge.update(0.1, at(200));
    EXPECT_EQ(judge.update(0.1, at(210)), Phase::Night);
    for (int t = 211; t < 300; ++t)
        EXPECT_EQ(judge.update(0.20, at(t)), Phase::Night);
    EXPECT_EQ(judge.flips(), 1);
}

TEST(DayNight, AClockSetBackDoesNotFlipAtOnce) {
    DayNight judge;
    judge.update(0.5, at(1000));
    judge.update(0.1, at(1001));
    EXPECT_EQ(judge.update(0.1, at(100)), Phase::Day);
    EXPECT_EQ(judge.update(0.1, at(105)), Phase::Night);
}

TEST(DayNight, ScheduleFollowsTheLocalClockAcrossMidnight) {
    setenv("TZ", "UTC", 1);
    tzset();
    DayNightRule rule;
    rule.by = By::Schedule;
    rule.dayFrom = 20 * 60;
    rule.nightFrom = 4 * 60;
    DayNight judge(rule);
    EXPECT_EQ(judge.update(0, at(3 * 3600)), Phase::Day);
    EXPECT_EQ(judge.update(0, at(4 * 3600)), Phase::Night);
    EXPECT_EQ(judge.update(0, at(20 * 3600 - 1)), Phase::Night);
    EXPECT_EQ(judge.update(0, at(20 * 3600)), Phase::Day);
}

TEST(DayNight, ByHand) {
    DayNightRule rule;
    rule.by = By::Hand;
    rule.hand = Phase::Night;
    EXPECT_EQ(DayNight(rule).update(1, at(0)), Phase::Night);
}

TEST(DayNight, RefusesRulesWithoutSense) {
    DayNightRule rule;
    rule.dark = 0.5, rule.bright = 0.4;
    EXPECT_THROW(DayNight{rule}, cv::Exception);
    rule = {};
    rule.latitude = 91;
    EXPECT_THROW(DayNight{rule}, cv::Exception);
    rule = {};
    rule.nightFrom = 1440;
    EXPECT_THROW(DayNight{rule}, cv::Exception);
}

// Compares with an almanac. The heights at noon on the solstices follow from the tilt of the earth, 23.44
// degrees.
TEST(Sun, StandsWhereTheAlmanacSays) {
    const long june = 1718906400, december = 1734789600;  // 2024-06-20 18:00 and 2024-12-21 14:00 UTC
    double most = -90, least = 90;
    for (long t = june - 43200; t < june + 43200; t += 60) {
        most = std::max(most, sunElevation(at(t), 51.4779, 0));
        least = std::min(least, sunElevation(at(t), 51.4779, 0));
    }
    EXPECT_NEAR(most, 90 - 51.4779 + 23.44, 0.05);
    EXPECT_NEAR(least, -(90 - 51.4779 - 23.44), 0.05);
    most = -90;
    for (long t = december - 43200; t < december + 43200; t += 60)
        most = std::max(most, sunElevation(at(t), 51.4779, 0));
    EXPECT_NEAR(most, 90 - 51.4779 - 23.44, 0.05);
}

TEST(Sun, RisesInTheEastFirst) {
    const long noon = 1710936000;  // 2024-03-20 12:00 UTC, equinox
    EXPECT_GT(sunElevation(at(noon), 0, 0), 87);
    EXPECT_NEAR(sunElevation(at(noon), 0, 90), 0, 2.5);
    EXPECT_LT(sunElevation(at(noon + 3600), 0, 90), sunElevation(at(noon + 3600), 0, -90));
}

}  // namespace
}  // namespace mpm::pipeline

#include "street/street.hpp"

#include <gtest/gtest.h>

using namespace mpm::street;

namespace {

cv::Mat grey(int value) {
    return cv::Mat(200, 300, CV_8UC3, cv::Scalar::all(value));
}

TEST(Night, SameSeedSameNoise) {
    const cv::Mat a = night(grey(120), {}, 7), b = night(grey(120), {}, 7), c = night(grey(120), {}, 8);
    EXPECT_EQ(cv::norm(a, b, cv::NORM_INF), 0);
    EXPECT_GT(cv::norm(a, c, cv::NORM_INF), 0);
    EXPECT_EQ(a.type(), CV_8UC3);
}

TEST(Night, MeanAndDeviationFollowTheModel) {
    const NightParameters parameters;
    const cv::Mat dark = night(grey(200), parameters, 3);
    cv::Scalar mean, deviation;
    cv::meanStdDev(dark.reshape(1), mean, deviation);
    const double value = parameters.luminance * 200 / 255.0;
    EXPECT_NEAR(mean[0], value * 255, 0.3);
    // The variances of shot noise (value * photons events), thermal noise and rounding add up.
    const double expected = std::sqrt(value / parameters.photons + 1e-4 + 1.0 / (12 * 255 * 255)) * 255;
    EXPECT_NEAR(deviation[0], expected, 0.03 * expected);
}

TEST(Night, WithoutNoiseOnlyLuminanceIsLeft) {
    const cv::Mat dark = night(grey(200), {0.5, 1e7, 0.0}, 3);
    EXPECT_LE(cv::norm(dark, grey(100), cv::NORM_INF), 1);
}

TEST(Night, ClipsAndKeepsChannels) {
    const cv::Mat bright = night(cv::Mat(10, 10, CV_8U, cv::Scalar(255)), {3.0, 250, 0.01}, 1);
    EXPECT_EQ(bright.type(), CV_8U);
    EXPECT_EQ(cv::norm(bright, cv::Mat(10, 10, CV_8U, cv::Scalar(255)), cv::NORM_INF), 0);
    EXPECT_EQ(cv::countNonZero(night(cv::Mat::zeros(10, 10, CV_8U), {0.35, 250, 0.0}, 1)), 0);
}

TEST(Night, WrongUse) {
    EXPECT_THROW(night(cv::Mat(2, 2, CV_32F, cv::Scalar(0)), {}, 1), cv::Exception);
    EXPECT_THROW(night(grey(1), {-1, 250, 0.01}, 1), cv::Exception);
    EXPECT_THROW(night(grey(1), {0.3, 0, 0.01}, 1), cv::Exception);
    EXPECT_THROW(night(grey(1), {0.3, 250, -1}, 1), cv::Exception);
    EXPECT_THROW(night(grey(1), {1e9, 250, 0}, 1), cv::Exception);
}

}  // namespace

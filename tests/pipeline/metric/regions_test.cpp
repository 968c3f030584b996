#include "pipeline/metric/regions.hpp"

#include <cmath>

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

namespace mpm::pipeline {
namespace {

cv::Mat randomIds(int seed, cv::Size size, int classes, int ignored) {
    cv::Mat small(6, 7, CV_8U), ids;
    cv::RNG random(seed);
    random.fill(small, cv::RNG::UNIFORM, 0, classes + 1);
    cv::resize(small, ids, size, 0, 0, cv::INTER_NEAREST);
    ids.setTo(ignored, ids == classes);
    return ids;
}

// Computes the band with plain loops: compares every pixel with all pixels within the radius.
cv::Mat plainBand(const cv::Mat& ids, int ignored, int radius) {
    cv::Mat band = cv::Mat::zeros(ids.size(), CV_8U);
    for (int y = 0; y < ids.rows; ++y)
        for (int x = 0; x < ids.cols; ++x)
            for (int v = std::max(0, y - radius); v <= std::min(ids.rows - 1, y + radius); ++v)
                for (int u = std::max(0, x - radius); u <= std::min(ids.cols - 1, x + radius); ++u) {
                    const int own = ids.at<uchar>(y, x), other = ids.at<uchar>(v, u);
                    if (own != ignored && other != ignored && own != other) band.at<uchar>(y, x) = 255;
                }
    return band;
}

TEST(Regions, TheBandIsWhatLiesNearAnotherClass) {
    for (int seed = 0; seed < 6; ++seed)
        for (const int ignored : {255, 4})
            for (const int radius : {0, 1, 3}) {
                const cv::Mat ids = randomIds(seed, {40 + seed, 31}, 4, ignored);
                EXPECT_EQ(
                    cv::countNonZero(boundaryBand(ids, ignored, radius) != plainBand(ids, ignored, radius)),
                    0)
                    << seed << " " << ignored << " " << radius;
            }
}

TEST(Regions, BandAndInteriorMakeTheWhole) {
    const cv::Mat truth = randomIds(3, {50, 40}, 4, 255), prediction = randomIds(4, {50, 40}, 4, 2);
    Confusion whole(4, 255);
    whole.add(truth, prediction);
    SplitConfusion split(4, 255);
    split.add(truth, prediction, 2);
    EXPECT_GT(split.band.pixels(), 0);
    EXPECT_GT(split.interior.pixels(), 0);
    for (int t = 0; t < 4; ++t)
        for (int p = 0; p <= 4; ++p)
            EXPECT_EQ(split.whole().at(t, p), whole.at(t, p));
}

TEST(Regions, CellsCarryAConfusionElsewhere) {
    Confusion from(4, 255), to(4, 255);
    from.add(randomIds(5, {30, 20}, 4, 255), randomIds(6, {30, 20}, 5, 255));
    for (const Confusion::Cell& cell : from.cells())
        to.add(cell);
    for (int t = 0; t < 4; ++t)
        for (int p = 0; p <= 4; ++p)
            EXPECT_EQ(from.at(t, p), to.at(t, p));
    EXPECT_THROW(to.add({4, 0, 1}), cv::Exception);
    EXPECT_THROW(to.add({0, 5, 1}), cv::Exception);
}

// An object of 32x32 pixels is small, a larger object is not. Two squares that touch only at a corner are two
// regions.
TEST(Regions, ObjectsGoBySizeOfTheirRegion) {
    cv::Mat truth(400, 400, CV_8U, cv::Scalar(0)), prediction(400, 400, CV_8U, cv::Scalar(0));
    truth(cv::Rect(10, 10, 32, 32)) = 1;
    truth(cv::Rect(42, 42, 32, 32)) = 1;
    truth(cv::Rect(100, 100, 41, 25)) = 2;
    prediction(cv::Rect(100, 100, 41, 25)) = 2;
    truth(cv::Rect(200, 0, 50, 10)) = 255;
    ObjectCounts counts;
    counts.add(truth, prediction, 255);
    EXPECT_EQ(counts.all[0], 2 * 32 * 32);
    EXPECT_EQ(counts.right[0], 0);
    EXPECT_EQ(counts.all[1], 41 * 25);
    EXPECT_EQ(counts.right[1], 41 * 25);
    EXPECT_EQ(counts.all[2], 400 * 400 - 2 * 32 * 32 - 41 * 25 - 500);
    EXPECT_EQ(counts.recall(2), 1.0);
    EXPECT_TRUE(std::isnan(ObjectCounts().recall(0)));
}

TEST(Distances, JoinsAreMeasuredFromMiddleToMiddle) {
    // In a 1x4 grid, patches 0 and 1 join, then patch 3 joins this pair. The centres of the pair and of
    // patch 3 are 2.5 patches apart.
    const cv::Mat first = (cv::Mat_<int>(1, 4) << 0, 0, 1, 2), second = (cv::Mat_<int>(1, 3) << 0, 1, 0);
    const auto counts = joinDistances({first, second}, {4, 1});
    ASSERT_EQ(counts.size(), 2u);
    EXPECT_EQ(counts[0], (DistanceCounts{0, 1}));
    EXPECT_EQ(counts[1], (DistanceCounts{0, 0, 0, 1}));
    EXPECT_THROW(joinDistances({first, first}, {4, 1}), cv::Exception);
}

TEST(Distances, ChanceIsEveryPairAlike) {
    std::vector<double> shares;
    double pairs = 0;
    for (int a = 0; a < 20; ++a)
        for (int b = a + 1; b < 20; ++b, ++pairs) {
            const size_t bin = static_cast<size_t>(std::lround(std::hypot(a % 5 - b % 5, a / 5 - b / 5)));
            shares.resize(std::max(shares.size(), bin + 1), 0);
            ++shares[bin];
        }
    const auto chance = chanceDistances({5, 4});
    ASSERT_EQ(chance.size(), shares.size());
    for (size_t bin = 0; bin < shares.size(); ++bin)
        EXPECT_NEAR(chance[bin], shares[bin] / pairs, 1e-12);
}

}  // namespace
}  // namespace mpm::pipeline

#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>

#include "pipeline/segment/segmenter.hpp"

namespace mpm::pipeline {
namespace {

cv::Mat randomLogits(int classes, int rows, int cols, int seed) {
    const int shape[] = {1, classes, rows, cols};
    cv::Mat logits(4, shape, CV_32F);
    cv::RNG(seed).fill(logits, cv::RNG::NORMAL, 0, 2);
    return logits;
}

/// Computes labels with a cv::resize for each class.
cv::Mat plainArgmax(const cv::Mat& logits, cv::Size size) {
    cv::Mat best, ids(size, CV_16U, cv::Scalar(0));
    for (int c = 0; c < logits.size[1]; ++c) {
        const cv::Mat plane(logits.size[2], logits.size[3], CV_32F,
                            const_cast<float*>(logits.ptr<float>(0, c)));
        cv::Mat stretched;
        cv::resize(plane, stretched, size, 0, 0, cv::INTER_LINEAR);
        if (c == 0) best = stretched.clone();
        cv::Mat better = stretched > best;
        stretched.copyTo(best, better);
        ids.setTo(c, better);
    }
    return ids;
}

TEST(Argmax, EqualsResizingEveryClass) {
    for (const cv::Size size : {cv::Size(13, 9), cv::Size(64, 48), cv::Size(101, 77)}) {
        const cv::Mat logits = randomLogits(7, 9, 13, size.width);
        cv::Mat ids;
        argmaxStretched(logits, size).ids.convertTo(ids, CV_16U);
        // cv::resize interpolates the axes in another order, so nearly equal scores may give another label.
        EXPECT_LE(cv::countNonZero(ids != plainArgmax(logits, size)), size.area() / 1000);
    }
}

TEST(Argmax, TheLowestClassWinsTies) {
    const int shape[] = {1, 4, 3, 3};
    const cv::Mat ids = argmaxStretched(cv::Mat(4, shape, CV_32F, cv::Scalar(1)), {6, 6}).ids;
    EXPECT_EQ(cv::countNonZero(ids), 0);
}

TEST(Argmax, ManyClassesNeedSixteenBits) {
    cv::Mat logits = randomLogits(300, 2, 2, 1);
    for (int i = 0; i < 4; ++i)
        logits.ptr<float>(0, 299)[i] = 100;
    const Labels labels = argmaxStretched(logits, {4, 4}, Scores::All);
    EXPECT_EQ(labels.ids.type(), CV_16U);
    EXPECT_EQ(cv::countNonZero(labels.ids != 299), 0);
    EXPECT_NEAR(labels.scores.at<float>(0), 1, 1e-5);
}

TEST(Argmax, CoarseScoresAreThoseOfEveryFourthPixel) {
    const cv::Mat logits = randomLogits(5, 6, 7, 1);
    const cv::Size size(29, 22);
    const Labels all = argmaxStretched(logits, size, Scores::All);
    const Labels coarse = argmaxStretched(logits, size, Scores::Coarse);
    ASSERT_EQ(coarse.scores.size(), cv::Size(8, 6));
    for (int y = 0; y < coarse.scores.rows; ++y)
        for (int x = 0; x < coarse.scores.cols; ++x)
            EXPECT_EQ(coarse.scores.at<float>(y, x), all.scores.at<float>(4 * y, 4 * x));
    EXPECT_TRUE(argmaxStretched(logits, size).scores.empty());
}

TEST(LabelsOf, TakesLabelMapsAsTheyAre) {
    const int shape[] = {2, 1, 2, 2};
    cv::Mat output(4, shape, CV_32F, cv::Scalar(3));
    output.ptr<float>(1)[2] = 7;
    EXPECT_EQ(cv::countNonZero(labelsOf(output, 0, {2, 2}) != 3), 0);
    EXPECT_EQ(labelsOf(output, 1, {2, 2}).at<uchar>(1, 0), 7);
    output.ptr<float>(1)[2] = 300;
    EXPECT_EQ(labelsOf(output, 1, {2, 2}).type(), CV_16U);
}

TEST(LabelsOf, RefusesFeatures) {
    const int shape[] = {1, 10, 8};
    EXPECT_THROW(labelsOf(cv::Mat(3, shape, CV_32F, cv::Scalar(0)), 0, {16, 16}), std::exception);
}

}  // namespace
}  // namespace mpm::pipeline

#include "pipeline/metric/confusion.hpp"

#include <cmath>

#include <gtest/gtest.h>

using mpm::pipeline::Confusion;

namespace {

cv::Mat ids(std::vector<uchar> values) {
    return cv::Mat(values, true).reshape(1, 1);
}

TEST(Confusion, MeasuresByHand) {
    Confusion confusion(3, 255);
    confusion.add(ids({0, 0, 0, 1, 1, 2, 255}), ids({0, 0, 1, 1, 2, 2, 0}));
    const auto iou = confusion.iou();
    EXPECT_DOUBLE_EQ(iou[0], 2.0 / 3);
    EXPECT_DOUBLE_EQ(iou[1], 1.0 / 3);
    EXPECT_DOUBLE_EQ(iou[2], 1.0 / 2);
    EXPECT_DOUBLE_EQ(confusion.miou(), (2.0 / 3 + 1.0 / 3 + 0.5) / 3);
    EXPECT_DOUBLE_EQ(confusion.macc(), (2.0 / 3 + 0.5 + 1.0) / 3);
    EXPECT_DOUBLE_EQ(confusion.aacc(), 4.0 / 6);
    EXPECT_EQ(confusion.pixels(), 6);
}

TEST(Confusion, AbsentClassTakesNoPart) {
    Confusion confusion(4, 255);
    confusion.add(ids({0, 0, 1}), ids({0, 0, 1}));
    EXPECT_TRUE(std::isnan(confusion.iou()[3]));
    EXPECT_DOUBLE_EQ(confusion.miou(), 1.0);
}

TEST(Confusion, UnknownPredictionIsAMiss) {
    Confusion confusion(2, 255);
    confusion.add(ids({0, 0, 1, 1}), ids({0, 7, 1, 255}));
    EXPECT_DOUBLE_EQ(confusion.iou()[0], 0.5);
    EXPECT_DOUBLE_EQ(confusion.aacc(), 0.5);
}

TEST(Confusion, MatricesAdd) {
    Confusion whole(2, 255), first(2, 255), second(2, 255);
    first.add(ids({0, 1, 1}), ids({0, 0, 1}));
    second.add(ids({1, 1, 0}), ids({1, 1, 1}));
    whole.add(ids({0, 1, 1, 1, 1, 0}), ids({0, 0, 1, 1, 1, 1}));
    first += second;
    for (int t = 0; t < 2; ++t) {
        for (int p = 0; p < 2; ++p)
            EXPECT_EQ(first.at(t, p), whole.at(t, p));
    }
    EXPECT_THROW(first += Confusion(3, 255), cv::Exception);
}

TEST(Confusion, SixteenBitIds) {
    Confusion confusion(400, 65535);
    confusion.add(cv::Mat(1, 2, CV_16U, cv::Scalar(300)), cv::Mat(1, 2, CV_16U, cv::Scalar(300)));
    EXPECT_DOUBLE_EQ(confusion.iou()[300], 1.0);
}

TEST(Confusion, WrongUse) {
    Confusion confusion(2, 255);
    EXPECT_THROW(confusion.add(ids({0, 1}), ids({0})), cv::Exception);
    EXPECT_THROW(confusion.add(ids({2}), ids({0})), cv::Exception);
    EXPECT_THROW(confusion.add(cv::Mat(1, 1, CV_32F), ids({0})), cv::Exception);
    EXPECT_THROW(Confusion(0, 255), cv::Exception);
}

}  // namespace

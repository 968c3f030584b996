#include "street/street.hpp"

#include <array>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "street/layout/layout.hpp"

using namespace mpm::street;

namespace {

double difference(const cv::Mat& a, const cv::Mat& b) {
    return cv::norm(a, b, cv::NORM_INF);
}

TEST(Street, SameSeedHourAndSecondGiveTheSameFrame) {
    Street first({320, 240}, 5), second({320, 240}, 5);
    second.at(3, 17);  // earlier requests must not change the frame
    const StreetFrame a = first.at(14, 8), b = second.at(14, 8);
    EXPECT_EQ(difference(a.image, b.image), 0);
    EXPECT_EQ(difference(a.labels, b.labels), 0);
    const StreetFrame other = Street({320, 240}, 6).at(14, 8);
    EXPECT_GT(difference(a.image, other.image), 0);
}

TEST(Street, FramesHaveTheAskedSizeAndALabelEverywhere) {
    for (cv::Size size : {cv::Size(640, 480), cv::Size(333, 201), cv::Size(17, 160)}) {
        const StreetFrame frame = Street(size, 3).at(9, 2);
        EXPECT_EQ(frame.image.size(), size);
        EXPECT_EQ(frame.image.type(), CV_8UC3);
        EXPECT_EQ(frame.labels.size(), size);
        double highest = 0;
        cv::minMaxLoc(frame.labels, nullptr, &highest);
        EXPECT_LT(highest, kClasses);
    }
}

TEST(Street, EveryClassAppears) {
    std::array<int, kClasses> seen{};
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        Street street({320, 240}, seed, 1);
        for (int i = 0; i < 5; ++i) {
            const StreetFrame frame = street.at(12, 4.0 * i);
            for (int id = 0; id < kClasses; ++id)
                seen[static_cast<size_t>(id)] += cv::countNonZero(frame.labels == id);
        }
    }
    for (int id = 0; id < kClasses; ++id)
        EXPECT_GT(seen[static_cast<size_t>(id)], 30) << "class " << id;
}

TEST(Street, NightIsDarkerAndLabelsDoNotKnowTheHour) {
    Street street({320, 240}, 2);
    const StreetFrame day = street.at(12, 5), night = street.at(0.5, 5), dayAgain = street.at(36, 5);
    EXPECT_LT(cv::mean(night.image)[1], 0.6 * cv::mean(day.image)[1]);
    EXPECT_EQ(difference(day.labels, night.labels), 0);
    EXPECT_EQ(difference(day.image, dayAgain.image), 0);
    EXPECT_DOUBLE_EQ(dayAgain.hour, 12);
}

TEST(Street, TrafficMoves) {
    Street street({320, 240}, 2);
    const StreetFrame now = street.at(12, 5), later = street.at(12, 7);
    EXPECT_GT(cv::countNonZero(now.labels != later.labels), 50);
}

TEST(Street, ObjectsAreTheLabelsOfTheirClasses) {
    for (double hour : {13.0, 19.3, 23.0}) {
        Street street({320, 240}, 4, 1);
        for (double seconds : {0.0, 7.4, -30.0}) {
            const StreetFrame frame = street.at(hour, seconds);
            ASSERT_FALSE(frame.objects.empty());
            std::set<std::int64_t> ids;
            cv::Mat boxes = cv::Mat::zeros(frame.labels.size(), CV_8U);
            for (const auto& object : frame.objects) {
                EXPECT_TRUE(ids.insert(object.id).second) << object.id;
                EXPECT_GE(object.id, 1);
                EXPECT_GT(object.box.area(), 0);
                EXPECT_EQ(object.box & cv::Rect({0, 0}, street.size()), object.box);
                EXPECT_GE(object.visible, 0);
                EXPECT_LE(object.visible, 1);
                EXPECT_TRUE(object.label >= kCar && object.label <= kBicyclist);
                const cv::Mat inside = frame.labels(object.box) == object.label;
                if (object.visible > 0) {
                    EXPECT_GT(cv::countNonZero(inside), 0);
                }
                boxes(object.box) |= inside;
            }
            const cv::Mat all = (frame.labels >= kCar) & (frame.labels <= kBicyclist);
            EXPECT_EQ(difference(all, boxes), 0) << "a pixel of an object outside of its box";
        }
    }
}

TEST(Street, AnObjectKeepsItsIdentityUntilItLeaves) {
    Street street({320, 240}, 2, 1);
    std::map<std::int64_t, StreetObject> last;
    std::map<std::int64_t, int> gone;
    for (int i = 0; i < 250; ++i) {
        std::map<std::int64_t, StreetObject> now;
        for (const auto& object : street.at(12, .2 * i).objects)
            now[object.id] = object;
        for (const auto& [id, object] : now) {
            EXPECT_EQ(gone.count(id), 0U) << id << " is back in frame " << i;
            if (last.count(id) == 0) continue;
            EXPECT_EQ(object.label, last[id].label);
            const cv::Point step = object.box.br() - last[id].box.br();
            EXPECT_LT(std::abs(step.x), 100) << id << " jumps in frame " << i;
        }
        for (const auto& [id, object] : last)
            if (now.count(id) == 0) gone[id] = i;
        last = now;
    }
    EXPECT_GT(gone.size(), 2U);
}

TEST(Street, WrongUse) {
    EXPECT_THROW(Street({8, 240}, 1), cv::Exception);
    EXPECT_THROW(Street({320, 240}, 1, 0), cv::Exception);
    Street street({64, 48}, 1);
    EXPECT_THROW(street.at(std::nan(""), 0), cv::Exception);
    EXPECT_THROW(street.at(12, INFINITY), cv::Exception);
}

}  // namespace

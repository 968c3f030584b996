// Objects keep their identity in spite of missing boxes, occlusions, darkness and pauses. Invalid boxes have
// no effect.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "base/random.hpp"
#include "pipeline/dataset/track_files.hpp"
#include "pipeline/objects/tracker.hpp"
#include "support/shared.hpp"
#include "support/street_tracks.hpp"

namespace mpm::test {
namespace {

using pipeline::ObjectState;
using pipeline::ObjectTracker;
using pipeline::TrackedObject;

const cv::Size kImage(640, 480);

Detection box(float x, float y, int label = 0, float score = .9F, float size = 40) {
    return {{x, y, size, size}, label, score, {}};
}

TEST(ObjectTracker, KeepsTheIdentityOfAnObjectThatMoves) {
    ObjectTracker tracker;
    std::set<std::int64_t> ids;
    for (int frame = 0; frame < 50; ++frame) {
        std::vector<Detection> found;
        if (frame % 10 != 7) found.push_back(box(10.F + 10 * float(frame), 100));
        for (const TrackedObject& one : tracker.update(found, frame * .2, kImage))
            ids.insert(one.id);
    }
    EXPECT_EQ(ids.size(), 1U);
}

TEST(ObjectTracker, ObjectsThatMeetKeepTheirIdentity) {
    ObjectTracker tracker;
    std::map<std::int64_t, std::set<int>> ways;  // by identity: the objects that had this identity
    for (int i = 0; i < 30; ++i) {
        const float way = 12 * float(i);
        std::vector<Detection> found = {box(20 + way, 100)};
        if (i < 13 || i > 17) found.push_back(box(20 + 12 * 29 - way, 104));  // is hidden in frames 13 to 17
        for (const TrackedObject& one : tracker.update(found, i * .2, kImage))
            if (one.seen) ways[one.id].insert(one.box.y > 102 ? 1 : 0);
    }
    EXPECT_EQ(ways.size(), 2U);
    for (const auto& [id, seen] : ways)
        EXPECT_EQ(seen.size(), 1U) << id;
}

TEST(ObjectTracker, AnObjectThatStopsAtOnceKeepsItsIdentity) {
    ObjectTracker tracker;
    std::set<std::int64_t> ids;
    for (int i = 0; i < 20; ++i)  // a frame a second
        for (const TrackedObject& one :
             tracker.update({box(20.F + 12 * float(std::min(i, 8)), 100)}, i, kImage))
            ids.insert(one.id);
    EXPECT_EQ(ids.size(), 1U);
}

TEST(ObjectTracker, NamesTheStatesOfAnObject) {
    ObjectTracker tracker;
    std::vector<ObjectState> states;
    const auto step = [&](const std::vector<Detection>& found, double seconds) {
        const auto objects = tracker.update(found, seconds, kImage);
        states.push_back(objects.empty() ? ObjectState::Left : objects[0].state);
        return objects;
    };
    for (int i = 0; i < 20; ++i)  // the object moves for four seconds
        step({box(10.F + 12 * float(i), 50)}, i * .2);
    EXPECT_EQ(states.front(), ObjectState::Arrived);
    EXPECT_EQ(states.back(), ObjectState::Moves);
    for (int i = 20; i < 60; ++i)
        step({box(238, 50)}, i * .2);
    EXPECT_EQ(states.back(), ObjectState::Stays);
    EXPECT_STREQ(stateName(states.back()), "stays");
    bool left = false;
    for (int i = 60; i < 2000; ++i)
        for (const TrackedObject& one : step({}, i * .2))
            left = left || one.state == ObjectState::Left;
    EXPECT_TRUE(left);
    EXPECT_TRUE(tracker.update({}, 500, kImage).empty());
    EXPECT_TRUE(tracker.present().empty());
}

TEST(ObjectTracker, AnObjectThatStaysKeepsItsIdentityForHours) {
    ObjectTracker tracker;
    std::int64_t id = 0;
    const auto expectId = [&](const std::vector<TrackedObject>& objects) {
        ASSERT_EQ(objects.size(), 1U);
        if (id == 0) id = objects[0].id;
        EXPECT_EQ(objects[0].id, id);
    };
    double now = 0;
    for (int i = 0; i < 3 * 3600; ++i, now += 1)  // three hours at a frame a second; the box jitters
        expectId(tracker.update({box(100 + float(i % 3), 100)}, now, kImage));
    for (int i = 0; i < 5; ++i, now += 1)  // a person hides the object
        tracker.update({}, now, kImage);
    expectId(tracker.update({box(101, 100)}, now, kImage));
    now += 3600;  // the camera was off for an hour
    expectId(tracker.update({box(101, 101)}, now, kImage));
    for (int i = 0; i < 20; ++i, now += .2)  // the light changes: boxes with low scores, then none
        tracker.update(i < 10 ? std::vector<Detection>{box(100, 100, 0, .2F)} : std::vector<Detection>{}, now,
                       kImage);
    expectId(tracker.update({box(100, 101)}, now, kImage));
    EXPECT_EQ(tracker.update({box(100, 101)}, now, kImage)[0].state, ObjectState::Stays);
    EXPECT_GT(tracker.update({box(100, 101)}, now, kImage)[0].dwell(), 4 * 3600.);
}

TEST(ObjectTracker, AnObjectThatMovesIsGoneAfterAnHour) {
    ObjectTracker tracker;
    for (int i = 0; i < 10; ++i)
        tracker.update({box(10.F + 20 * float(i), 50)}, i * .2, kImage);
    const auto objects = tracker.update({}, 3600, kImage);
    ASSERT_EQ(objects.size(), 1U);
    EXPECT_EQ(objects[0].state, ObjectState::Left);
    EXPECT_EQ(tracker.update({box(190, 50)}, 3601, kImage).size(), 0U);  // the object is too new to count
    EXPECT_GT(tracker.update({box(190, 50)}, 3602, kImage).at(0).id, objects[0].id);
}

/// The first box after a gap of an hour is in the same place. The gap must not count as a stay.
TEST(ObjectTracker, AGapOfAnHourIsNoStay) {
    for (const float speed : {0.F, 60.F}) {
        ObjectTracker tracker;
        tracker.setRegions({{"all", {{0, 0}, {1, 0}, {1, 1}, {0, 1}}}});
        tracker.update({}, 0, kImage);
        std::int64_t id = 0;
        for (int i = 1; i < 6; ++i)
            for (const TrackedObject& one :
                 tracker.update({box(100 + speed * .2F * float(i), 100)}, i * .2, kImage))
                id = one.id;
        ASSERT_GT(id, 0);
        for (int i = 0; i < 3; ++i)
            for (const TrackedObject& one : tracker.update({box(100 + speed, 100)}, 3600 + i * .2, kImage)) {
                EXPECT_EQ(one.id == id, one.state == ObjectState::Left);
                EXPECT_LT(one.dwell(), 2);
                for (const auto& stays : {one.stays, one.left})
                    for (const auto& [region, seconds] : stays)
                        EXPECT_LT(seconds, 2) << region;
            }
    }
}

/// After a restart, an object that stood keeps its identity. An object that moved does not, even if a box is
/// in the place where it was last seen.
TEST(ObjectTracker, AnObjectThatMovedEndsWithTheProgram) {
    for (const bool stood : {false, true}) {
        ObjectTracker before;
        std::vector<TrackedObject> objects;
        for (int i = 0; i < 60; ++i)
            objects = before.update({box(stood ? 100 : 100 + 4 * float(i), 100)}, 1e6 + i * .2, kImage);
        ObjectTracker after;
        after.restore(objects, before.nextId());
        const cv::Rect2f last = objects.at(0).box;
        for (int i = 0; i < 3; ++i)
            for (const TrackedObject& one :
                 after.update({box(last.x, last.y)}, 1e6 + 8 * 3600 + i * .2, kImage)) {
                EXPECT_TRUE(one.state == ObjectState::Left || (one.id == objects[0].id) == stood);
            }
    }
}

TEST(ObjectTracker, WhatWasSeenForAMomentIsSoonForgotten) {
    for (const int frames : {2, 6}) {  // visible for 0.2 s or 1 s
        ObjectTracker tracker;
        std::set<std::int64_t> ids;
        tracker.update({}, 0, kImage);
        for (int i = 1; i <= frames + 12; ++i) {
            const bool away = i > frames && i <= frames + 10;  // hidden for 2 s
            for (const TrackedObject& one : tracker.update(
                     away ? std::vector<Detection>() : std::vector<Detection>{box(100, 100)}, i * .2, kImage))
                ids.insert(one.id);
        }
        EXPECT_EQ(ids.size(), frames == 2 ? 2U : 1U);
    }
}

TEST(ObjectTracker, ASlowSourceHasNoGaps) {
    ObjectTracker tracker;
    tracker.update({}, 0, kImage);
    for (int i = 1; i < 5; ++i) {
        const auto objects = tracker.update({box(100, 100)}, i * 600, kImage);
        if (i == 1) continue;
        ASSERT_EQ(objects.size(), 1U);
        EXPECT_EQ(objects[0].id, 1);
        EXPECT_TRUE(objects[0].seen);
    }
}

TEST(ObjectTracker, WeakBoxesContinueAnObjectButBeginNone) {
    ObjectTracker tracker;
    tracker.update({}, 0, kImage);
    for (int i = 1; i < 5; ++i)
        EXPECT_TRUE(tracker.update({box(10, 10, 0, .3F)}, i, kImage).empty());
    tracker.update({box(10, 10)}, 5, kImage);
    tracker.update({box(10, 10)}, 6, kImage);
    const auto objects = tracker.update({box(10, 10, 0, .3F)}, 7, kImage);
    ASSERT_EQ(objects.size(), 1U);
    EXPECT_TRUE(objects[0].seen);
    EXPECT_FLOAT_EQ(objects[0].score, .3F);
}

TEST(ObjectTracker, ASingleFalseBoxIsNoObject) {
    ObjectTracker tracker;
    tracker.update({}, 0, kImage);
    EXPECT_TRUE(tracker.update({box(10, 10)}, 1, kImage).empty());
    EXPECT_TRUE(tracker.update({}, 2, kImage).empty());
    EXPECT_TRUE(tracker.present().empty());
}

TEST(ObjectTracker, ClassesDoNotMix) {
    ObjectTracker tracker;
    const auto first = tracker.update({box(10, 10, 1), box(10, 10, 2)}, 0, kImage);
    ASSERT_EQ(first.size(), 2U);
    const auto second = tracker.update({box(10, 10, 2), box(10, 10, 1)}, 1, kImage);
    for (const TrackedObject& one : second)
        for (const TrackedObject& before : first)
            EXPECT_EQ(one.id == before.id, one.label == before.label);
    EXPECT_EQ(tracker.present(), (std::map<int, int>{{1, 1}, {2, 1}}));
}

TEST(ObjectTracker, CountsCrossingsAndRegions) {
    ObjectTracker tracker;
    tracker.setLines({{"gate", {.5, 0}, {.5, 1}}, {"far", {.9, 0}, {.9, .1}}});
    for (int i = 0; i < 60; ++i)  // moves to the right and back, twice
        tracker.update({box(300 + 60 * std::sin(float(i) * 6.2832F / 30), 200, 7)}, i * .2, kImage);
    std::int64_t forth = 0, back = 0;
    for (const auto& [label, count] : tracker.lineCounts()[0].forth) {
        EXPECT_EQ(label, 7);
        forth += count;
    }
    for (const auto& [label, count] : tracker.lineCounts()[0].back)
        back += count;
    EXPECT_EQ(forth, 2);
    EXPECT_EQ(back, 2);
    EXPECT_TRUE(tracker.lineCounts()[1].forth.empty());
    EXPECT_EQ(tracker.presentIn({{.4, .4}, {.6, .4}, {.6, .6}, {.4, .6}}), (std::map<int, int>{{7, 1}}));
    EXPECT_TRUE(tracker.presentIn({{0, 0}, {.1, 0}, {.1, .1}}).empty());
}

TEST(ObjectTracker, BadBoxesAndTimesDoNoHarm) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    ObjectTracker tracker;
    std::vector<Detection> bad = {box(nan, 0),
                                  box(0, inf),
                                  box(10, 10, 0, nan),
                                  box(1e30F, -1e30F, 0, 1, 1e30F),
                                  {{5, 5, 0, 10}, 0, 1, {}},
                                  {{5, 5, -4, 10}, 0, 1, {}},
                                  box(10, 10, std::numeric_limits<int>::max()),
                                  box(10, 10, -5)};
    for (const double seconds : {0., 1., double(nan), -1e300, 1e300, double(inf), 2.})
        for (const TrackedObject& one : tracker.update(bad, seconds, kImage)) {
            EXPECT_TRUE(std::isfinite(one.box.area()));
            EXPECT_TRUE(std::isfinite(one.dwell()));
        }
    Random random(2);
    std::vector<Detection> many;
    for (int i = 0; i < 10000; ++i)
        many.push_back(box(float(random.uniform(0, 600)), float(random.uniform(0, 440)), i % 3,
                           float(random.uniform())));
    for (int frame = 0; frame < 3; ++frame)
        EXPECT_LE(tracker.update(many, 10 + frame, kImage).size(), 3000U);
    std::vector<Detection> same(10000, box(10, 10));
    tracker.update(same, 20, kImage);
    tracker.update(same, 21, kImage);
    EXPECT_NO_THROW(tracker.update({}, 22, {}));
}

/// Follows the true boxes of a sequence, but leaves out a random share `dropped`. Returns IDF1 of the tracks.
double idf1(const pipeline::TrackFrames& truth, int last, double rate, double dropped,
            std::int64_t& switches) {
    ObjectTracker tracker;
    Random random(11);
    pipeline::TrackFrames tracks;
    for (int frame = 1; frame <= last; ++frame) {
        std::vector<Detection> found;
        if (const auto at = truth.find(frame); at != truth.end())
            for (const pipeline::TrackBox& one : at->second)
                if (!random.chance(dropped)) found.push_back({cv::Rect2f(one.box), 0, .9F, {}});
        for (const TrackedObject& one : tracker.update(found, frame / rate, {1920, 1080}))
            if (one.seen) tracks[frame].push_back({one.id, cv::Rect2d(one.box)});
    }
    const pipeline::TrackFigures figures = trackCounts(truth, tracks).figures;
    switches = figures.switches;
    return figures.idf1;
}

/// Returns the true boxes of simulated people and cars that pass, stop and meet, at five frames a second.
pipeline::TrackFrames street(int frames) {
    pipeline::TrackFrames truth;
    Random random(3);
    for (int id = 1; id <= 12; ++id) {
        const double way = random.chance(.5) ? 1 : -1, speed = random.uniform(4, 14),
                     y = random.uniform(100, 500);
        double x = way > 0 ? 0 : 900;
        const int stop = random.below(frames);
        for (int f = 1 + 8 * id; f <= frames && x >= 0 && x <= 900; ++f) {
            if (f < stop || f > stop + 20) x += way * speed;
            truth[f].push_back({id, {x, y, 50, 90}});
        }
    }
    return truth;
}

TEST(ObjectTracker, FollowsTrueBoxesOfWhichATenthIsMissing) {
    std::int64_t switches = 0;
    EXPECT_GE(idf1(street(150), 150, 5, .1, switches), .85);
    EXPECT_LE(switches, 3);
}

TEST(ObjectTracker, FollowsTheStreetByDayAndNight) {
    const cv::Size size(320, 240);
    for (const auto& [light, seed] : {std::pair("day", 2), std::pair("night", 5)}) {
        const StreetBoxes boxes = streetBoxes(size, light, 5, 30, seed);
        const auto figures = followStreet(boxes, size, 5, 1, .1, 11).figures;
        EXPECT_GE(figures.idf1, .85) << light;
        RecordProperty(light, std::to_string(figures.idf1));
        std::printf("%s: IDF1 %.4f, %lld switches\n", light, figures.idf1,
                    static_cast<long long>(figures.switches));
    }
}

TEST(ObjectTracker, FollowsTheBoxesOfASequence) {
    const std::string path = sharedDir() + "/fixtures/mot/street.gt.txt";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    const pipeline::TrackFile truth = pipeline::readTracks(path, true);
    std::int64_t switches = 0;
    const double found = idf1(truth.frames, truth.last, 5, .1, switches);
    RecordProperty("idf1", std::to_string(found));
    EXPECT_GE(found, .85);
    std::printf("IDF1 %.4f, %lld switches\n", found, static_cast<long long>(switches));
}

TEST(RegionObjects, AreConnectedPixelsOfAClass) {
    cv::Mat labels = cv::Mat::zeros(20, 30, CV_8U);
    labels(cv::Rect(2, 3, 5, 4)) = 7;
    labels(cv::Rect(20, 3, 6, 10)) = 7;
    labels(cv::Rect(7, 7, 2, 2)) = 7;    // touches the first region at a corner
    labels(cv::Rect(12, 15, 1, 1)) = 7;  // too small
    labels(cv::Rect(0, 18, 30, 2)) = 3;  // another class
    const auto objects = pipeline::regionObjects(labels, {7}, 4);
    ASSERT_EQ(objects.size(), 2U);
    EXPECT_EQ(objects[0].box, cv::Rect2f(20, 3, 6, 10));
    EXPECT_EQ(objects[1].box, cv::Rect2f(2, 3, 7, 6));
    EXPECT_EQ(objects[1].label, 7);
    EXPECT_EQ(cv::countNonZero(objects[1].mask), 24);
    EXPECT_TRUE(pipeline::regionObjects(labels, {9}, 1).empty());
    cv::Mat wide;
    labels.convertTo(wide, CV_16U, 100);
    EXPECT_EQ(pipeline::regionObjects(wide, {700}, 4).size(), 2U);
}

TEST(RegionObjects, HaveTheMeanScoreOfTheirPixels) {
    cv::Mat labels = cv::Mat::zeros(20, 30, CV_8U), scores(20, 30, CV_32F, cv::Scalar(0.9));
    labels(cv::Rect(2, 3, 5, 4)) = 7;
    labels(cv::Rect(20, 3, 6, 10)) = 7;
    scores(cv::Rect(2, 3, 5, 2)) = 0.4;
    const auto objects = pipeline::regionObjects(labels, {7}, 4, scores);
    ASSERT_EQ(objects.size(), 2U);
    EXPECT_NEAR(objects[0].score, 0.9, 1e-6);
    EXPECT_NEAR(objects[1].score, 0.65, 1e-6) << "half of its pixels have 0.4";
    EXPECT_EQ(pipeline::regionObjects(labels, {7}, 4)[1].score, 1) << "without scores";
}

TEST(RegionObjects, AreNoNarrowerThanAToken) {
    cv::Mat labels = cv::Mat::zeros(480, 640, CV_8U);
    labels(cv::Rect(10, 10, 14, 100)) = 7;
    labels(cv::Rect(60, 10, 100, 14)) = 7;
    labels(cv::Rect(10, 200, 15, 100)) = 7;
    EXPECT_EQ(pipeline::regionObjects(labels, {7}, 100).size(), 3U)
        << "the caller decides about the smallest";
    const auto objects = pipeline::regionObjects(labels, {7});
    ASSERT_EQ(objects.size(), 1U);
    EXPECT_EQ(objects[0].box, cv::Rect2f(10, 200, 15, 100));
}

TEST(RegionObjects, BadClassesAndManyRegionsDoNoHarm) {
    cv::Mat labels(200, 200, CV_16U);
    for (int y = 0; y < labels.rows; ++y)
        for (int x = 0; x < labels.cols; ++x)
            labels.at<ushort>(y, x) = x % 2 == 0 && y % 2 == 0 ? 65535 : 3;
    const auto many = pipeline::regionObjects(labels, {65535}, 1);
    EXPECT_EQ(many.size(), 10'000U);
    EXPECT_LE(ObjectTracker().update(many, 0, labels.size()).size(), 1000U);
    const int huge = std::numeric_limits<int>::max();
    EXPECT_TRUE(pipeline::regionObjects(labels, {huge, -huge, -1, 65536}, 1).empty());
    EXPECT_TRUE(pipeline::regionObjects(cv::Mat(labels != 3), {511, 256, -1}, 1).empty());
    EXPECT_TRUE(pipeline::regionObjects(cv::Mat(0, 0, CV_8U), {1}, 1).empty());
}

}  // namespace
}  // namespace mpm::test

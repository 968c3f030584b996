// Objects of detectors and segmentation models, followed over frames, restarts and changes of the model.
#include <gtest/gtest.h>

#include <limits>

#include <opencv2/imgproc.hpp>

#include "pipeline/objects/follower.hpp"

namespace mpm {
namespace {

using namespace pipeline;

const std::vector<std::string> kNames = {"road", "car", "pedestrian"};
const cv::Size kImage(200, 100);
constexpr double kBegin = 1.8e9;  // seconds since 1970

std::shared_ptr<const KnownObjects> nobody() {
    return std::make_shared<const KnownObjects>();
}

/// Returns a street with a car on the left (if `car`), and a person at x (if x is not negative).
Segmentation street(int x = 120, bool car = true) {
    Segmentation found;
    found.labels = cv::Mat(kImage, CV_8U, cv::Scalar(0));
    if (car) found.labels(cv::Rect(10, 50, 40, 20)) = 1;
    if (x >= 0) found.labels(cv::Rect(x, 40, 10, 30)) = 2;
    return found;
}

struct Follower {
    FollowedObjectsPtr step(const Segmentation& found, double seconds) {
        return follower.update(found, {generation, kBegin + seconds, seconds + steady, image, &masks}, wish,
                               names, names);
    }
    ObjectFollower follower;
    FollowWish wish{{"*"}, {}, nobody()};
    std::vector<std::string> names = kNames;
    std::vector<Polygon> masks;
    int generation = 1;
    cv::Size image = kImage;
    double steady = 0;  ///< offset of the steady clock from the system clock
};

const TrackedObject* ofClass(const FollowedObjectsPtr& all, int label) {
    for (const TrackedObject& one : all->objects)
        if (one.label == label) return &one;
    return nullptr;
}

TEST(ObjectFollower, FollowsNothingUnlessItIsWanted) {
    Follower is;
    is.wish.classes.clear();
    EXPECT_EQ(is.step(street(), 0), nullptr);
    is.wish = {{"*"}, {}, nullptr};  // known objects are null until the store has answered
    EXPECT_EQ(is.step(street(), 1), nullptr);
    is.wish.known = nobody();
    EXPECT_NE(is.step(street(), 2), nullptr);
}

TEST(ObjectFollower, RegionsOfAModelThatSegmentsAreObjects) {
    Follower is;
    const auto all = is.step(street(), 0);
    ASSERT_EQ(all->objects.size(), 2U) << "the road is no object";
    EXPECT_EQ(all->counts, (std::map<int, int>{{1, 1}, {2, 1}}));
    EXPECT_EQ(ofClass(all, 1)->box, cv::Rect2f(10, 50, 40, 20));
    is.wish.classes = {"pedestrian"};
    EXPECT_EQ(is.step(street(), 1)->counts, (std::map<int, int>{{2, 1}}));
    is.wish.classes = {"nothing of this model"};
    EXPECT_TRUE(is.step(street(), 2)->counts.empty());
}

TEST(ObjectFollower, MasksAndRegionsApplyToBoxes) {
    Follower is;
    is.wish.regions = {{"yard", {{0, 0}, {.5, 0}, {.5, 1}, {0, 1}}}};
    is.masks = {{{.55, 0}, {1, 0}, {1, 1}, {.55, 1}}};
    const auto all = is.step(street(), 0);
    EXPECT_EQ(all->counts, (std::map<int, int>{{1, 1}, {2, 0}}));
    ASSERT_EQ(all->byRegion.size(), 1U);
    EXPECT_EQ(all->byRegion[0], (std::map<int, int>{{1, 1}, {2, 0}}));
    is.masks.clear();
    EXPECT_EQ(is.step(street(), .2)->counts.at(2), 0) << "a box of one frame is no object";
    EXPECT_EQ(is.step(street(), .4)->byRegion[0].at(2), 0) << "it stands outside";
}

TEST(ObjectFollower, StaysAreMeasuredByRegion) {
    Follower is;
    is.wish.regions = {{"right", {{.5, 0}, {1, 0}, {1, 1}, {.5, 1}}}};
    FollowedObjectsPtr all;
    for (int i = 0; i <= 20; ++i)  // the person walks to the right and stands still
        all = is.step(street(std::min(60 + 4 * i, 120)), i * .5);
    const TrackedObject* walker = ofClass(all, 2);
    ASSERT_NE(walker, nullptr);
    EXPECT_NEAR(walker->stays.at(""), 10, .01);
    EXPECT_NEAR(walker->stays.at("right"), 5.5, .6);
    std::map<std::string, double> left;
    for (int i = 21; i < 40; ++i)  // the person walks back
        for (const TrackedObject& one : is.step(street(std::max(60, 120 - 4 * (i - 20))), i * .5)->objects)
            left.insert(one.left.begin(), one.left.end());
    EXPECT_EQ(left.size(), 1U);
    EXPECT_NEAR(left.at("right"), 8.5, .6);
    for (int i = 40; i < 300; ++i)  // the person is gone
        for (const TrackedObject& one : is.step(street(-1), i * .5)->objects)
            left.insert(one.left.begin(), one.left.end());
    EXPECT_EQ(left.size(), 2U);
    EXPECT_NEAR(left.at(""), 19.5, .6);
}

const std::vector<Region> kRight = {{"right", {{.5, 0}, {1, 0}, {1, 1}, {.5, 1}}}};

/// A person walks to the right for 7.5 s, then stands still until 10 s.
FollowedObjectsPtr walkIn(Follower& is) {
    is.wish.regions = kRight;
    FollowedObjectsPtr all;
    for (int i = 0; i <= 20; ++i)
        all = is.step(street(std::min(60 + 4 * i, 120)), i * .5);
    return all;
}

TEST(ObjectFollower, AnotherWishKeepsTheStaysByRegion) {
    Follower is;
    walkIn(is);
    is.wish.classes = {"pedestrian"};
    const auto all = is.step(street(), 10.5);
    const TrackedObject* walker = ofClass(all, 2);
    ASSERT_NE(walker, nullptr);
    EXPECT_NEAR(walker->stays.at(""), 10.5, .01);
    EXPECT_NEAR(walker->stays.at("right"), 6, .6);
    EXPECT_TRUE(walker->before.empty()) << "the program runs on";
}

/// After a restart, a stay in a region counts from the moment at which the object stopped. If this moment is
/// unknown, the stay counts from the last frame before the restart, and an alert may come a second time.
TEST(ObjectFollower, AStayInARegionIsKnownAfterARestartSinceTheObjectStopped) {
    for (const bool stood : {true, false}) {
        Follower before, after;
        KnownObjects known = knownFrom(*walkIn(before), kImage, kNames);
        for (KnownObject& one : known.present)
            if (!stood) one.still = Millis(0);
        after.wish.known = std::make_shared<const KnownObjects>(known);
        after.wish.regions = kRight;
        const auto all = after.step(street(), 12);
        const TrackedObject* walker = ofClass(all, 2);
        ASSERT_NE(walker, nullptr);
        EXPECT_NEAR(walker->stays.at(""), 12, .01);
        EXPECT_NEAR(walker->before.at(""), 10, .01);
        EXPECT_NEAR(walker->stays.at("right"), stood ? 4.75 : 2, .6);
        ASSERT_EQ(walker->before.count("right"), stood ? 1U : 0U);
        if (stood) {
            EXPECT_NEAR(walker->before.at("right"), 2.75, .6);
        }
    }
}

/// The car keeps its identity if the light changes (other labels for some frames), if a person hides it for
/// five seconds, and after a restart.
TEST(ObjectFollower, WhatStandsStillKeepsItsIdentity) {
    Follower before;
    FollowedObjectsPtr all;
    double now = 0;
    for (; now < 10; now += 1)
        all = before.step(street(-1), now);
    const std::int64_t car = ofClass(all, 1)->id;
    Segmentation flash;
    flash.labels = cv::Mat(kImage, CV_8U, cv::Scalar(1));
    for (; now < 12; now += .5)  // all pixels have the label of cars
        before.step(flash, now);
    for (; now < 17; now += .5)
        before.step(street(-1, false), now);
    all = before.step(street(-1), now);
    ASSERT_NE(ofClass(all, 1), nullptr);
    EXPECT_EQ(ofClass(all, 1)->id, car);

    Follower after;  // an hour later, with a model that has another order of classes
    after.names = {"pedestrian", "sky", "car"};
    after.wish.known = std::make_shared<const KnownObjects>(knownFrom(*all, kImage, kNames));
    Segmentation found = street(-1);
    found.labels.setTo(2, found.labels == 1);
    found.labels.setTo(1, found.labels == 0);
    found.labels(cv::Rect(150, 10, 20, 20)) = 2;  // a new object
    for (int i = 0; i < 3; ++i)
        all = after.step(found, 3600 + i);
    ASSERT_EQ(all->objects.size(), 2U);
    EXPECT_EQ(all->objects[0].id, car);
    EXPECT_GT(all->objects[0].dwell(), 3600);
    EXPECT_NEAR(all->objects[0].before.at(""), 17, 1) << "its stay before the restart";
    EXPECT_GE(all->objects[1].id, all->objects[0].id + 1);
    EXPECT_GE(all->objects[1].id, 2) << "no identity is given twice";
}

TEST(ObjectFollower, AClockThatIsSetChangesNoStay) {
    for (const double set : {-3600., 8 * 3600.}) {
        Follower is;
        FollowedObjectsPtr all;
        for (int i = 0; i < 10; ++i)
            all = is.step(street(), i);
        const TrackedObject car = *ofClass(all, 1), walker = *ofClass(all, 2);
        is.steady = -set;  // only the system clock is set
        for (int i = 10; i < 13; ++i)
            all = is.step(street(), i + set);
        ASSERT_NE(ofClass(all, 2), nullptr);
        EXPECT_EQ(ofClass(all, 2)->id, walker.id);
        EXPECT_NEAR(ofClass(all, 1)->stays.at(""), 12, .1);
        EXPECT_NEAR(ofClass(all, 1)->last - car.last, 3 + set, .1) << "times are those of the clock";
    }
}

/// A person walks away from a car. After ten seconds, the camera sends images of half the size.
TEST(ObjectFollower, ImagesOfAnotherSizeShowTheSameObjects) {
    Follower is;
    FollowedObjectsPtr all;
    for (int i = 0; i < 40; ++i) {
        Segmentation found = street(60 + 3 * i);
        if (i >= 20) {
            is.image = {100, 50};
            cv::resize(found.labels, found.labels, is.image, 0, 0, cv::INTER_NEAREST);
        }
        all = is.step(found, i * .5);
        ASSERT_EQ(all->objects.size(), 2U) << i;
        EXPECT_EQ(all->counts, (std::map<int, int>{{1, 1}, {2, 1}})) << i;
    }
    EXPECT_EQ(all->nextId, 3) << "nobody is new";
    EXPECT_EQ(ofClass(all, 1)->state, ObjectState::Stays);
    EXPECT_NEAR(ofClass(all, 1)->still, 19.5, .01);
    EXPECT_EQ(ofClass(all, 1)->box, cv::Rect2f(5, 25, 20, 10));
    EXPECT_EQ(ofClass(all, 2)->state, ObjectState::Moves);
    EXPECT_NEAR(ofClass(all, 2)->stays.at(""), 19.5, .01);
}

/// If there is only a frame a minute, a car that is gone must still be removed after a few frames.
TEST(ObjectFollower, WhatIsRarelyLookedAtLeavesAfterAFewFrames) {
    Follower is;
    for (int i = 0; i < 10; ++i)
        is.step(street(-1), i * 60);
    FollowedObjectsPtr all;
    for (int i = 10; i < 15; ++i)
        all = is.step(street(-1, false), i * 60);
    EXPECT_EQ(ofClass(all, 1), nullptr);
}

TEST(ObjectFollower, AnotherWishKeepsIdentitiesAndReportsNobodyAsGone) {
    Follower is;
    auto all = is.step(street(), 0);
    const std::int64_t walker = ofClass(all, 2)->id;
    is.wish.classes = {"pedestrian"};
    all = is.step(street(), 1);
    ASSERT_EQ(all->objects.size(), 1U);
    EXPECT_EQ(all->objects[0].id, walker);
    EXPECT_TRUE(all->objects[0].left.empty());
    is.generation = 2;  // another source
    EXPECT_FALSE(is.step(street(), 2)->objects.empty());
}

TEST(ObjectFollower, TheSameFrameIsCountedOnce) {
    Follower is;
    is.step(street(-1), 0);
    const auto first = is.step(street(), 1);
    EXPECT_EQ(is.step(street(), 1), first);
}

TEST(ObjectFollower, TheSameFrameIsCountedAgainInOtherRegions) {
    Follower is;
    is.wish.regions = {{"left", {{0, 0}, {.5, 0}, {.5, 1}, {0, 1}}}};
    const auto first = is.step(street(), 0);
    ASSERT_EQ(first->byRegion.size(), 1U);
    is.wish.regions.insert(is.wish.regions.begin(), {"right", {{.5, 0}, {1, 0}, {1, 1}, {.5, 1}}});
    const auto again = is.step(street(), 0);
    ASSERT_EQ(again->byRegion.size(), 2U);
    EXPECT_EQ(again->byRegion[0].at(2), 0) << "known with the next frame";
    EXPECT_EQ(again->byRegion[1], first->byRegion[0]);
    EXPECT_EQ(is.step(street(), .2)->byRegion[0].at(2), 1);
}

TEST(ObjectFollower, WhatLeftInAFrameThatNobodySawIsNotLost) {
    FollowedObjects missed;
    const auto now = std::make_shared<FollowedObjects>();
    for (const std::int64_t id : {1, 2, 3}) {
        TrackedObject one;
        one.id = id;
        one.state = id == 3 ? ObjectState::Left : ObjectState::Stays;
        if (id == 2) one.left["door"] = 5;
        if (id == 3) one.left[""] = 9;
        missed.objects.push_back(one);
        one.left.clear();
        if (id != 3) now->objects.push_back(one);
    }
    const auto all = withDepartures(missed, now);
    ASSERT_EQ(all->objects.size(), 3U);
    EXPECT_TRUE(all->objects[0].left.empty());
    EXPECT_EQ(all->objects[1].left.at("door"), 5);
    EXPECT_EQ(all->objects[2].id, 3);
    EXPECT_EQ(all->objects[2].left.at(""), 9);
    EXPECT_EQ(withDepartures(missed, all)->objects.size(), 3U);
}

TEST(ObjectFollower, ADetectorCountsTheClassesThatWereThere) {
    Follower is;
    is.names.assign(5000, "thing");
    Segmentation found;
    found.detector = true;
    found.detections = {{{10, 10, 20, 20}, 3000, .9F, {}}};
    EXPECT_EQ(is.step(found, 0)->counts, (std::map<int, int>{{3000, 1}}));
    found.detections.clear();
    EXPECT_EQ(is.step(found, 9)->counts, (std::map<int, int>{{3000, 0}}));
}

TEST(ObjectFollower, BadInputDoesNoHarm) {
    const double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
    const Millis now(std::int64_t(kBegin * 1000));
    KnownObjects known{std::numeric_limits<std::int64_t>::max() - 10, {}};
    for (const cv::Rect2d& place :
         {cv::Rect2d(nan, 0, 1, 1), cv::Rect2d(0, 0, 0, 0), cv::Rect2d(0, 0, inf, 1), cv::Rect2d(0, 0, -1, 1),
          cv::Rect2d(1e300, 0, 1, 1)})
        known.present.push_back({5, "car", place, now, now, Millis(1)});
    known.present.push_back({6, "car", {0, 0, .1, .1}, now, now - Millis(5), Millis(1)});
    known.present.push_back({7, "a class of another model", {0, 0, .1, .1}, now, now, Millis(1)});
    known.present.push_back(
        {-8, "car", {.5, .5, .1, .1}, Millis(INT64_MIN), Millis(INT64_MAX), Millis(INT64_MAX)});
    Follower is;
    is.wish.known = std::make_shared<const KnownObjects>(known);
    for (const double seconds : {0., nan, inf, -inf, 1.}) {
        const auto all = is.step(street(), seconds);
        EXPECT_LE(all->objects.size(), 5U);
        knownFrom(*all, kImage, kNames);
        knownFrom(*all, {}, {});
    }
    Segmentation many;
    many.detector = true;
    for (int i = 0; i < 10'000; ++i)
        many.detections.push_back({{float(i % 190), float(i / 190), 8, 8},
                                   i % 2 == 0 ? 1 : std::numeric_limits<int>::max(),
                                   .9F,
                                   {}});
    many.detections.push_back({{float(nan), 0, 1, 1}, 1, .9F, {}});
    many.detections.push_back({{0, 0, 0, 0}, 1, .9F, {}});
    many.detections.push_back({{0, 0, 9, 9}, -1, .9F, {}});
    for (int i = 2; i < 5; ++i)
        EXPECT_LE(is.step(many, i)->objects.size(), 3000U);
    EXPECT_EQ(is.step({}, 6)->byRegion.size(), 0U);
}

}  // namespace
}  // namespace mpm

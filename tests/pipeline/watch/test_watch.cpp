// Regions, masks and alert rules on small images with known results.
#include <gtest/gtest.h>

#include "pipeline/watch/alert.hpp"

namespace mpm::pipeline {
namespace {

using namespace std::chrono_literals;
using Of = AlertRule::Of;

const Polygon kLeftHalf = {{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}};

cv::Mat identity(int count) {
    cv::Mat map(1, count, CV_32S);
    for (int i = 0; i < count; ++i)
        map.at<int>(i) = i;
    return map;
}

TEST(AlertRules, AreAtMostTwoHundred) {
    AlertRule rule;
    rule.name = "rule";
    AlertWatch watch;
    watch.setRules(std::vector<AlertRule>(AlertWatch::kMostRules, rule));
    EXPECT_THROW(watch.setRules(std::vector<AlertRule>(AlertWatch::kMostRules + 1, rule)), cv::Exception);
    EXPECT_EQ(watch.rules().size(), AlertWatch::kMostRules);
}

TEST(AlertRules, OfOneNameAreToldApart) {
    AlertRule low, high;
    low.name = high.name = "rule";
    low.threshold = 100;
    high.threshold = 10;
    AlertWatch watch;
    watch.setRules({low, high});
    AlertInput input;
    input.tokens = 50;
    const std::vector<Alert> alerts = watch.update(input, {});
    ASSERT_EQ(alerts.size(), 1u);
    EXPECT_EQ(alerts[0].index, 1u);
}

ObjectPresence presence(std::int64_t id, int label, std::map<std::string, double> stays,
                        std::map<std::string, double> left = {}) {
    ObjectPresence one;
    one.id = id;
    one.label = label;
    one.stays = std::move(stays);
    one.left = std::move(left);
    return one;
}

AlertRule objectRule(Of of, const char* label, const char* region, double threshold) {
    AlertRule rule;
    rule.name = "rule";
    rule.of = of;
    rule.label = label;
    rule.region = region;
    rule.threshold = threshold;
    rule.coolDown = 0ms;
    return rule;
}

/// Updates the watch with these objects, and returns the ids of objects that raise an alert.
std::vector<std::int64_t> raised(AlertWatch& watch, std::vector<ObjectPresence> objects, int second = 0) {
    AlertInput input;
    input.labels = {"car", "person"};
    input.objects = std::move(objects);
    std::vector<std::int64_t> ids;
    for (const Alert& alert :
         watch.update(input, AlertWatch::Clock::time_point(std::chrono::seconds(second))))
        ids.push_back(alert.object);
    return ids;
}

TEST(AlertRules, MoreThanFivePeople) {
    AlertWatch watch;
    watch.setRules({objectRule(Of::Objects, "person", "", 5), objectRule(Of::Objects, "person", "door", 5)});
    AlertInput input;
    input.labels = {"car", "person"};
    EXPECT_TRUE(watch.update(input, {}).empty()) << "objects are not followed";
    input.objectCounts = {{0, 9}, {1, 5}};
    RegionReading door;
    door.name = "door";
    door.objects = {{1, 6}};
    input.regions = {door};
    std::vector<Alert> alerts = watch.update(input, {});
    ASSERT_EQ(alerts.size(), 1u);
    EXPECT_EQ(alerts[0].index, 1u);
    (*input.objectCounts)[1] = 6;
    alerts = watch.update(input, {});
    ASSERT_EQ(alerts.size(), 1u) << "what is open is not raised again";
    EXPECT_EQ(alerts[0].index, 0u);
    EXPECT_EQ(alerts[0].value, 6);
}

// A rule may use the user's name or the model's name of a class. Classes with the same name count together.
TEST(AlertRules, ClassesHaveTwoNames) {
    AlertInput input;
    input.labels = {"vehicle", "vehicle", "Mensch"};
    input.ownLabels = {"car", "truck", "person"};
    input.classShares = {0.25, 0.5, 0.25};
    input.objectCounts = {{0, 1}, {1, 2}, {2, 4}};
    for (const auto& [name, share, count] : {std::tuple("vehicle", 0.75, 3.0),
                                             {"car", 0.25, 1.0},
                                             {"truck", 0.5, 2.0},
                                             {"Mensch", 0.25, 4.0},
                                             {"person", 0.25, 4.0}}) {
        EXPECT_EQ(valueFor(objectRule(Of::ClassShare, name, "", 0), input), share) << name;
        EXPECT_EQ(valueFor(objectRule(Of::Objects, name, "", 0), input), count) << name;
    }
    EXPECT_FALSE(valueFor(objectRule(Of::ClassShare, "tree", "", 0), input));
}

TEST(AlertRules, EachPersonInFrontDoorForMoreThanTenSeconds) {
    AlertWatch watch;
    watch.setRules({objectRule(Of::ObjectStays, "person", "Front door", 10)});
    using Ids = std::vector<std::int64_t>;
    EXPECT_EQ(
        raised(watch, {presence(1, 1, {{"", 60}, {"Front door", 9}}), presence(2, 0, {{"Front door", 99}})}),
        Ids());
    EXPECT_EQ(raised(watch, {presence(1, 1, {{"Front door", 11}})}), Ids{1});
    EXPECT_EQ(raised(watch, {presence(1, 1, {{"Front door", 12}}), presence(3, 1, {{"Front door", 10.5}})}),
              Ids{3});
    EXPECT_EQ(raised(watch, {presence(1, 1, {{"Front door", 13}}), presence(3, 1, {{"Front door", 12}})}),
              Ids());
    EXPECT_EQ(raised(watch, {presence(1, 1, {{"", 90}})}), Ids()) << "it went away";
    EXPECT_EQ(raised(watch, {presence(1, 1, {{"Front door", 11}})}), Ids{1}) << "and came again";
}

TEST(AlertRules, AParkedCarIsNotRaisedAgainAfterARestart) {
    AlertWatch watch;
    watch.setRules({objectRule(Of::ObjectStays, "car", "", 60)});
    ObjectPresence parked = presence(1, 0, {{"", 5000}}), young = presence(2, 0, {{"", 61}});
    parked.before[""] = 4990;
    young.before[""] = 55;
    EXPECT_EQ(raised(watch, {parked, young}), std::vector<std::int64_t>{2});
    watch.setRules({objectRule(Of::ObjectStays, "car", "Loading zone", 60)});
    parked.stays["Loading zone"] = 61;
    EXPECT_EQ(raised(watch, {parked}), std::vector<std::int64_t>{1}) << "it was parked elsewhere before";
}

TEST(AlertRules, ACarLeft) {
    AlertWatch watch;
    AlertRule rule = objectRule(Of::ObjectLeft, "car", "", 30);
    rule.hold = 5s;  // applies only to rules about a state
    watch.setRules({rule});
    using Ids = std::vector<std::int64_t>;
    EXPECT_EQ(raised(watch, {presence(1, 0, {{"", 100}})}), Ids());
    EXPECT_EQ(raised(watch, {presence(1, 0, {}, {{"", 100}}), presence(2, 0, {}, {{"", 4}})}), Ids{1});
    EXPECT_EQ(raised(watch, {}), Ids());
    EXPECT_EQ(raised(watch, {presence(6, 0, {}, {{"", 40}}), presence(7, 0, {}, {{"", 50}})}), (Ids{7, 6}));
    rule.above = false;  // objects that stay less than 30 s
    rule.fromHour = 8, rule.toHour = 17;
    rule.coolDown = 10s;
    watch.setRules({rule});
    EXPECT_EQ(raised(watch, {presence(3, 0, {}, {{"", 4}})}, 1), Ids{3});
    EXPECT_EQ(raised(watch, {presence(4, 0, {}, {{"", 4}})}, 5), Ids()) << "too soon";
    EXPECT_EQ(raised(watch, {presence(5, 0, {}, {{"", 4}}), presence(8, 0, {}, {{"", 5}})}, 20),
              (Ids{4, 8, 5}))
        << "with the one that waited";
}

TEST(AlertRules, EachObjectIsRaisedEvenIfItsMomentIsInThePause) {
    AlertRule left = objectRule(Of::ObjectLeft, "car", "", 30),
              stays = objectRule(Of::ObjectStays, "person", "door", 10);
    left.coolDown = stays.coolDown = 60s;
    AlertWatch watch;
    watch.setRules({left, stays});
    using Ids = std::vector<std::int64_t>;
    EXPECT_EQ(raised(watch, {presence(1, 0, {}, {{"", 100}}), presence(2, 1, {{"door", 11}})}, 0),
              (Ids{1, 2}));
    EXPECT_EQ(raised(watch, {presence(3, 0, {}, {{"", 90}}), presence(4, 1, {{"door", 11}})}, 30), Ids());
    EXPECT_EQ(watch.waiting(), (std::set<std::int64_t>{3, 4}));
    EXPECT_EQ(raised(watch, {}, 59), Ids());
    AlertInput down;  // the source gives no more frames
    down.sourceDown = true;
    const auto late = watch.update(down, AlertWatch::Clock::time_point(60s));
    ASSERT_EQ(late.size(), 2u);
    EXPECT_EQ(late[0].object, 3);
    EXPECT_EQ(late[0].value, 90);
    EXPECT_EQ(late[1].object, 4);
    EXPECT_EQ(late[1].index, 1u);
    EXPECT_EQ(raised(watch, {}, 200), Ids()) << "once";
}

TEST(AlertRules, WaitingObjectsAreBoundedAndOfOneSource) {
    AlertRule rule = objectRule(Of::ObjectLeft, "", "", 0);
    rule.coolDown = 60s;
    AlertWatch watch;
    watch.setRules({rule});
    EXPECT_EQ(raised(watch, {presence(1, 0, {}, {{"", 5}})}, 0).size(), 1u);
    std::vector<ObjectPresence> many;
    for (int id = 2; id < 1000; ++id)
        many.push_back(presence(id, 0, {}, {{"", 5}}));
    for (int second = 1; second < 4; ++second)
        EXPECT_TRUE(raised(watch, many, second).empty());
    EXPECT_EQ(watch.waiting().size(), 100u);
    AlertInput other;
    other.source = "yard";
    EXPECT_TRUE(watch.update(other, AlertWatch::Clock::time_point(60s)).empty());
}

TEST(AlertRules, HaveASourceAndHours) {
    AlertRule rule;
    rule.name = "rule";
    AlertInput input;
    input.source = "door";
    input.tokens = 50;
    const auto fires = [&](int hour) {
        AlertWatch watch;
        watch.setRules({rule});
        input.hour = hour;
        return !watch.update(input, {}).empty();
    };
    EXPECT_TRUE(fires(0) && fires(23));
    rule.source = "yard";
    EXPECT_FALSE(fires(12));
    rule.source = "door";
    rule.fromHour = 8, rule.toHour = 17;
    EXPECT_TRUE(fires(8) && fires(16));
    EXPECT_FALSE(fires(7) || fires(17));
    rule.fromHour = 22, rule.toHour = 6;  // across midnight
    EXPECT_TRUE(fires(22) && fires(0) && fires(5));
    EXPECT_FALSE(fires(6) || fires(21));
    rule.toHour = 22;
    EXPECT_THROW(AlertWatch().setRules({rule}), cv::Exception);
    rule.toHour = 25;
    EXPECT_THROW(AlertWatch().setRules({rule}), cv::Exception);
}

TEST(Region, CountsPatchesTokensAndShares) {
    cv::Mat labels(40, 40, CV_8U, cv::Scalar(1));
    labels(cv::Rect(0, 0, 10, 40)).setTo(0);
    cv::Mat map = identity(16);
    map.at<int>(4) = 0;  // joins the patch above it, both in the left half
    map.at<int>(5) = 3;  // in the left half, but joins a token whose first patch is in the right half
    const RegionReading reading = readRegion({"door", kLeftHalf}, labels, map, {4, 4}, 2);
    EXPECT_EQ(reading.patches, 8);
    EXPECT_EQ(reading.tokens, 7);
    ASSERT_EQ(reading.classShares.size(), 2u);
    EXPECT_NEAR(reading.classShares[0], 0.5, 0.03);
    EXPECT_NEAR(reading.classShares[1], 0.5, 0.03);
}

TEST(Region, SixteenBitIdsAndIdsPastTheClasses) {
    const cv::Mat labels(8, 8, CV_16U, cv::Scalar(300));
    const RegionReading reading = readRegion({"all", kLeftHalf}, labels, identity(4), {2, 2}, 2);
    EXPECT_EQ(reading.patches, 2);
    EXPECT_DOUBLE_EQ(reading.classShares[0] + reading.classShares[1], 0);
}

TEST(Region, OutsideTheImageHoldsNothing) {
    const cv::Mat labels(8, 8, CV_8U, cv::Scalar(0));
    const RegionReading reading =
        readRegion({"far", {{2, 2}, {3, 2}, {3, 3}}}, labels, identity(4), {2, 2}, 1);
    EXPECT_EQ(reading.patches, 0);
    EXPECT_EQ(reading.tokens, 0);
    EXPECT_TRUE(reading.classShares.empty());
    EXPECT_THROW(readRegion({"x", kLeftHalf}, labels, identity(3), {2, 2}, 1), cv::Exception);
}

TEST(Region, MaskedPixelsHaveNoShare) {
    cv::Mat labels(40, 40, CV_8U, cv::Scalar(1));
    labels(cv::Rect(0, 0, 10, 40)).setTo(0);
    const std::vector<Polygon> quarter = {{{0, 0}, {0.25, 0}, {0.25, 1}, {0, 1}}};
    const cv::Mat seen = seenThrough(quarter, labels.size());
    const RegionReading reading = readRegion({"door", kLeftHalf}, labels, identity(16), {4, 4}, 2, seen);
    EXPECT_EQ(reading.patches, 8);
    ASSERT_EQ(reading.classShares.size(), 2u);
    EXPECT_NEAR(reading.classShares[1], 1, 0.11);
    EXPECT_TRUE(readRegion({"x", quarter[0]}, labels, identity(16), {4, 4}, 2, seen).classShares.empty());
    EXPECT_TRUE(seenThrough({}, labels.size()).empty());
}

TEST(Region, EvenOddRule) {
    const Polygon hourglass = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    EXPECT_TRUE(contains(hourglass, {0.5, 0.1}));
    EXPECT_TRUE(contains(hourglass, {0.5, 0.9}));
    EXPECT_FALSE(contains(hourglass, {0.1, 0.5}));
}

TEST(Mask, BlackensInsideOnly) {
    cv::Mat image(20, 20, CV_8UC3, cv::Scalar(9, 9, 9));
    applyMasks(image, {kLeftHalf, {{0.9, 0.9}, {1, 1}}});
    EXPECT_EQ(image.at<cv::Vec3b>(10, 4), cv::Vec3b(0, 0, 0));
    EXPECT_EQ(image.at<cv::Vec3b>(0, 0), cv::Vec3b(0, 0, 0));
    EXPECT_EQ(image.at<cv::Vec3b>(10, 14), cv::Vec3b(9, 9, 9));
    EXPECT_EQ(image.at<cv::Vec3b>(19, 19), cv::Vec3b(9, 9, 9));  // a shape with two corners has no area
}

AlertRule tokensAbove(double threshold) {
    AlertRule rule;
    rule.name = "busy";
    rule.threshold = threshold;
    rule.hold = 2s;
    rule.coolDown = 10s;
    return rule;
}

AlertRule atOnce(const std::string& name, Of of, double threshold) {
    AlertRule rule;
    rule.name = name;
    rule.of = of;
    rule.threshold = threshold;
    return rule;
}

AlertInput tokens(int count) {
    AlertInput input;
    input.tokens = count;
    return input;
}

class Alerts : public ::testing::Test {
protected:
    size_t at(std::chrono::milliseconds time, const AlertInput& input) {
        return m_watch.update(input, AlertWatch::Clock::time_point(1h) + time).size();
    }
    AlertWatch m_watch;
};

TEST_F(Alerts, HoldsThenTellsOnceAnEpisode) {
    m_watch.setRules({tokensAbove(500)});
    EXPECT_EQ(at(0s, tokens(600)), 0u);
    EXPECT_EQ(at(1s, tokens(600)), 0u);
    EXPECT_EQ(at(2s, tokens(600)), 1u);
    EXPECT_EQ(at(30s, tokens(600)), 0u);  // the state continues, so no second alert
    EXPECT_EQ(at(31s, tokens(500)), 0u);  // not above the threshold, so the state ends
    EXPECT_EQ(at(32s, tokens(600)), 0u);
    EXPECT_EQ(at(34s, tokens(600)), 1u);
}

TEST_F(Alerts, ADipStartsTheHoldAnew) {
    m_watch.setRules({tokensAbove(500)});
    EXPECT_EQ(at(0s, tokens(600)), 0u);
    EXPECT_EQ(at(1s, tokens(400)), 0u);
    EXPECT_EQ(at(2s, tokens(600)), 0u);
    EXPECT_EQ(at(3s, tokens(600)), 0u);
    EXPECT_EQ(at(4s, tokens(600)), 1u);
}

TEST_F(Alerts, CoolDownDelaysTheNextEpisode) {
    AlertRule rule = tokensAbove(500);
    rule.hold = 0s;
    m_watch.setRules({rule});
    EXPECT_EQ(at(0s, tokens(600)), 1u);
    at(1s, tokens(0));
    EXPECT_EQ(at(2s, tokens(600)), 0u);
    EXPECT_EQ(at(9s, tokens(600)), 0u);
    EXPECT_EQ(at(10s, tokens(600)), 1u);
}

TEST_F(Alerts, EveryQuantityAndItsRegion) {
    AlertRule cars = atOnce("cars", Of::ClassShare, 0.3), door = cars;
    cars.label = door.label = "car";
    door.name = door.region = "door";
    AlertRule dark = atOnce("dark", Of::Luminance, 0.1);
    dark.above = false;
    m_watch.setRules({cars, door, dark, atOnce("gone", Of::SourceDown, 0)});
    AlertInput input;
    input.labels = {"road", "car"};
    input.classShares = {0.6, 0.4};
    input.regions = {{"door", 4, 2, {0.9, 0.1}}};
    input.luminance = 0.05;
    input.sourceDown = true;
    const std::vector<Alert> alerts = m_watch.update(input, AlertWatch::Clock::now());
    ASSERT_EQ(alerts.size(), 3u);
    EXPECT_EQ(alerts[0].rule, "cars");
    EXPECT_DOUBLE_EQ(alerts[0].value, 0.4);
    EXPECT_EQ(alerts[1].rule, "dark");
    EXPECT_EQ(alerts[2].rule, "gone");
}

TEST_F(Alerts, WhatIsNotMeasuredChangesNothing) {
    m_watch.setRules({tokensAbove(500)});
    EXPECT_EQ(at(0s, tokens(600)), 0u);
    EXPECT_EQ(at(1s, AlertInput{}), 0u);
    EXPECT_EQ(at(2s, tokens(600)), 1u);
}

TEST_F(Alerts, RulesThatStayKeepTheirState) {
    m_watch.setRules({tokensAbove(500)});
    EXPECT_EQ(at(0s, tokens(600)), 0u);
    AlertRule another = tokensAbove(50'000);
    another.name = "never";
    m_watch.setRules({another, tokensAbove(500)});
    EXPECT_EQ(at(2s, tokens(600)), 1u);
    AlertRule senseless = tokensAbove(-1);
    EXPECT_THROW(m_watch.setRules({senseless}), cv::Exception);
    EXPECT_EQ(m_watch.rules().size(), 2u);
}

}  // namespace
}  // namespace mpm::pipeline

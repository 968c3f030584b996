// Counts of objects, and the stored objects that the next run recognises.
#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "pipeline/store/number_list.hpp"
#include "pipeline/store/store.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

using test::TempFolder;

TEST(Store, TwoRegionsOfOneNameKeepNoReadingOut) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    Measurement twice, next;
    twice.time = Millis(1000);
    twice.regions = {{"door", 40, 12, {}}, {"door", 100, 61, {}}};
    next.time = Millis(2000);
    store.add(id, {twice, next});
    EXPECT_EQ(store.measurements(id, Millis(0), Millis(10'000)).size(), 2u);
}

TEST(Store, GivesNoIdentityTwice) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    KnownObjects many;
    many.nextId = 4711;
    store.setObjects(id, many);
    store.setObjects(id, {});
    EXPECT_EQ(store.objects(id).nextId, 4711);
}

TEST(Store, KeepsCountsOfObjects) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    Measurement without, with;
    without.time = Millis(1000);
    with.time = Millis(2000);
    with.objects = 5;
    with.objectCounts = {{1, 5}, {12, 0}};
    with.regions = {{"door", 4, 2, {0.5, 0.5}, {{1, 3}, {12, 0}}}};
    store.add(id, {without, with});
    const auto rows = store.measurements(id, Millis(0), Millis(10'000));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_FALSE(rows[0].objects);
    EXPECT_EQ(rows[1].objects, 5);
    EXPECT_EQ(rows[1].objectCounts, with.objectCounts);
    EXPECT_EQ(rows[1].regions[0].objects, with.regions[0].objects);
    EXPECT_EQ(store.regionReadings(id, "door", Millis(0), Millis(10'000))[0].second.objects,
              with.regions[0].objects);
    using Kind = Quantity::Kind;
    const auto past = [&](Kind kind, int label) {
        return store.quantity(id, "", {kind, label, "door"}, Millis(0), Millis(60'000));
    };
    ASSERT_EQ(past(Kind::ClassObjects, 1).size(), 1u);
    EXPECT_EQ(past(Kind::ClassObjects, 1)[0].mean, 5);
    EXPECT_EQ(past(Kind::ClassObjects, 1)[0].count, 1) << "of the readings with objects";
    EXPECT_EQ(past(Kind::RegionObjects, 1)[0].mean, 3);
    EXPECT_TRUE(past(Kind::ClassObjects, 7).empty());
    EXPECT_EQ(valueOf({Kind::ClassObjects, 12, {}}, with), 0);
    EXPECT_EQ(valueOf({Kind::RegionObjects, 1, "door"}, with), 3);
    EXPECT_FALSE(valueOf({Kind::ClassObjects, 1, {}}, without));
    const auto minutes = store.buckets(id, Store::Span::Minute, Millis(0), Millis(60'000));
    EXPECT_EQ(minutes[0].of(Summed::Objects).count, 1) << "of the readings with objects";
    EXPECT_EQ(minutes[0].of(Summed::Objects).mean, 5);
    std::ostringstream csv, json;
    store.exportCsv(csv, id, Millis(0), Millis(10'000), {"sky", "car"});
    EXPECT_NE(csv.str().find(",objects,objects car,objects class_12\n"), std::string::npos) << csv.str();
    EXPECT_NE(csv.str().find(",,,\n"), std::string::npos) << csv.str();
    EXPECT_NE(csv.str().find(",5,5,0\n"), std::string::npos) << csv.str();
    store.exportJson(json, id, Millis(0), Millis(10'000), {"sky", "car"});
    const auto parsed = nlohmann::json::parse(json.str())["readings"];
    EXPECT_FALSE(parsed[0].contains("objects"));
    EXPECT_EQ(parsed[1]["object_counts"]["car"], 5);
    EXPECT_EQ(parsed[1]["regions"]["door"]["object_counts"]["class_12"], 0);
}

TEST(StoreObjects, ClassesOfOneNameAreSummed) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    Measurement m;
    m.time = Millis(1000);
    m.classShares = {0.25, 0.5, 0.25};
    m.objects = 5;
    m.objectCounts = {{0, 1}, {1, 4}};
    store.add(id, {m});
    std::ostringstream json;
    store.exportJson(json, id, Millis(0), Millis(2000), {"vehicle", "vehicle", "road"});
    const auto reading = nlohmann::json::parse(json.str())["readings"][0];
    EXPECT_EQ(reading["shares"], (nlohmann::json{{"vehicle", 0.75}, {"road", 0.25}}));
    EXPECT_EQ(reading["object_counts"], (nlohmann::json{{"vehicle", 5}}));
}

TEST(Store, KnowsTheObjectsOfTheLastRun) {
    TempFolder folder;
    const KnownObject car{7, "car", {.1, .2, .3, .4}, Millis(1000), Millis(5000), Millis(3000)};
    {
        Store store(folder / "m.sqlite");
        store.setObjects(store.source("yard"), {3, {{1, "cat", {0, 0, 1, 1}, Millis(1), Millis(2), {}}}});
        store.setObjects(store.source("s"), {8, {{6, "car", {0, 0, 1, 1}, Millis(1), Millis(2), {}}}});
        store.setObjects(store.source("s"), {9, {car}});  // replaces the previous object
    }
    Store store(folder / "m.sqlite");
    const KnownObjects known = store.objects(store.source("s"));
    EXPECT_EQ(known.nextId, 9);
    ASSERT_EQ(known.present.size(), 1u);
    EXPECT_EQ(known.present[0].id, 7);
    EXPECT_EQ(known.present[0].label, "car");
    EXPECT_EQ(known.present[0].place, car.place);
    EXPECT_EQ(known.present[0].since, car.since);
    EXPECT_EQ(known.present[0].last, car.last);
    EXPECT_EQ(known.present[0].still, car.still);
    EXPECT_EQ(store.objects(store.source("yard")).present.size(), 1u);
    EXPECT_EQ(store.objects(store.source("new")).nextId, 1);
}

TEST(Store, CountsThatAreNotOursAreLeftOut) {
    const std::map<int, int> counts = {{0, 3}, {7, 0}, {2147483647, 5}};
    EXPECT_EQ(parseCounts(countsText(counts)), counts);
    EXPECT_TRUE(parseCounts(countsText({})).empty());
    for (const char* text : {"", "{", "[1,2]", "{\"", "{\"1", "{\"1\"", "{\"1\":", "{\"x\":1}", "{\"1\":x}",
                             "{\"-1\":4}", "{\"1\":-4}", "{\"nan\":1}", "{\"1\":nan}", "{1:2}"})
        EXPECT_TRUE(parseCounts(text).empty() || parseCounts(text) == (std::map<int, int>{{1, 0}})) << text;
}

}  // namespace
}  // namespace mpm::pipeline

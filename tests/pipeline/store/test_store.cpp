#include <gtest/gtest.h>
#include <sqlite3.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "pipeline/store/day_night_statistics.hpp"
#include "pipeline/store/number_list.hpp"
#include "pipeline/store/store.hpp"
#include "support/comma_locale.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

using test::TempFolder;

Measurement reading(std::int64_t ms, int kept, bool night = false) {
    Measurement m;
    m.time = Millis(ms);
    m.frame = ms / 1000;
    m.tokensIn = 1024;
    m.stageTokens = {kept + 180, kept};
    m.luminance = night ? 0.125 : 0.5;
    m.phase = night ? Phase::Night : Phase::Day;
    m.captureMs = 1, m.networkMs = 70, m.encoderMs = 60, m.mergeMs = 2, m.drawMs = 3;
    m.dropped = 4;
    m.classShares = {0.25, 0.75};
    return m;
}

TEST(Store, GivesBackWhatWasPutIn) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto street = store.source("street"), yard = store.source("yard");
    EXPECT_NE(street, yard);
    EXPECT_EQ(store.source("street"), street);
    store.add(street, {reading(2000, 600), reading(1000, 610)});
    store.add(yard, {reading(1500, 500)});
    const auto rows = store.measurements(street, Millis(0), Millis(10'000));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].time.count(), 1000);
    EXPECT_EQ(rows[1].stageTokens, (std::vector<int>{780, 600}));
    EXPECT_EQ(rows[1].tokensKept(), 600);
    EXPECT_DOUBLE_EQ(rows[1].luminance, 0.5);
    EXPECT_DOUBLE_EQ(rows[1].networkMs, 70);
    EXPECT_EQ(rows[1].dropped, 4);
    EXPECT_EQ(rows[1].classShares, (std::vector<double>{0.25, 0.75}));
    EXPECT_EQ(store.measurements(street, Millis(1000), Millis(2000)).size(), 1u);
    EXPECT_EQ(store.measurements(street, Millis(0), Millis(10'000), 1).size(), 1u);
}

// Day and night are compared only over readings of the same setup. Later passes of a video do not count.
TEST(Store, ComparesReadingsOfOneSetup) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    const pipeline::Setup two{"street", "mpm", {2, 5}}, one{"street", "mpm", {5}},
        other{"yard", "mpm", {2, 5}};
    std::int64_t id = 0;
    {
        Store store(path);
        id = store.source("s");
        std::vector<Measurement> all;
        for (int i = 0; i < 40; ++i) {
            all.push_back(reading(i * 1000, i < 20 ? 600 : 660, i >= 20));
            all.back().setup = i % 4 == 3 ? (i % 8 == 3 ? one : other) : two;
            all.back().pass = i % 4 == 2 ? 1 : 0;
        }
        store.add(id, all);
    }
    const Store store(path, Store::Access::ReadOnly);
    DayNightStatistics statistics;
    store.addTo(statistics, id, two, Millis(0), Millis(30'000));
    store.addTo(statistics, id, two, Millis(30'000), Millis(99'000));
    EXPECT_EQ(statistics.day().kept.count(), 10);
    EXPECT_EQ(statistics.night().kept.count(), 10);
    EXPECT_DOUBLE_EQ(statistics.difference(&PhaseStatistics::kept).percent, 10);
    EXPECT_EQ(statistics.flips(), 1);
    DayNightStatistics none;
    store.addTo(none, id, {"street", "reuse", {2, 5}}, Millis(0), Millis(99'000));
    EXPECT_EQ(none.day().kept.count(), 0);
    const auto extent = store.readingsIn(id, Millis(1'500), Millis(99'000));
    ASSERT_TRUE(extent);
    EXPECT_EQ(extent->first.count(), 2'000);
    EXPECT_EQ(extent->second.count(), 39'000);
    EXPECT_FALSE(store.readingsIn(id, Millis(50'000), Millis(99'000)));
}

TEST(Store, ReadOnlyWritesNothing) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    Store writer(path);
    const auto id = writer.source("s");
    Store reader(path, Store::Access::ReadOnly);
    EXPECT_THROW(reader.add(id, {reading(1, 1)}), StoreError);
    EXPECT_EQ(reader.findSource("s"), id);
    EXPECT_FALSE(reader.findSource("t"));
}

TEST(Store, BucketsEqualSumsOverTheReadings) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    std::vector<Measurement> all;
    for (int i = 0; i < 600; ++i)
        all.push_back(reading(i * 1000, 500 + i % 7, i >= 300));
    store.add(id, {all.begin(), all.begin() + 301});
    store.add(id, {all.begin() + 301, all.end()});
    const auto minutes = store.buckets(id, Store::Span::Minute, Millis(0), Millis(3'600'000));
    ASSERT_EQ(minutes.size(), 10u);
    for (const Bucket& minute : minutes) {
        double sum = 0, squares = 0;
        for (int i = 0; i < 60; ++i) {
            const double kept = all[minute.time.count() / 1000 + i].tokensKept();
            sum += kept, squares += kept * kept;
        }
        EXPECT_EQ(minute.count, 60);
        EXPECT_DOUBLE_EQ(minute.tokensMean, sum / 60);
        EXPECT_DOUBLE_EQ(minute.tokensSquares, squares / 60);
        EXPECT_EQ(minute.tokensLeast, 500);
        EXPECT_EQ(minute.tokensMost, 506);
        EXPECT_DOUBLE_EQ(minute.of(Summed::Latency).mean, 74);
    }
    const auto hours = store.buckets(id, Store::Span::Hour, Millis(0), Millis(3'600'000));
    ASSERT_EQ(hours.size(), 1u);
    EXPECT_EQ(hours[0].count, 600);
    EXPECT_EQ(hours[0].nights, 300);
    EXPECT_GT(hours[0].nightTokens, 0);
    EXPECT_EQ(store.extent(id), std::make_pair(Millis(0), Millis(3'600'000)));
}

TEST(Store, ComesBackAfterClosing) {
    TempFolder folder;
    { Store(folder / "m.sqlite").add(Store(folder / "m.sqlite").source("s"), {reading(1, 2)}); }
    Store store(folder / "m.sqlite");
    EXPECT_EQ(store.count(store.source("s")), 1);
}

TEST(Store, RetentionForgetsReadingsButKeepsTheirMinutes) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    const std::int64_t hour = 3'600'000;
    for (int h = 0; h < 48; ++h)
        store.add(id, {reading(h * hour, 600)});
    Retention retention;
    retention.readings = std::chrono::hours(24);
    retention.minutes = std::chrono::hours(36);
    store.apply(retention, Millis(48 * hour));
    EXPECT_EQ(store.count(id), 24);
    EXPECT_EQ(store.buckets(id, Store::Span::Minute, Millis(0), Millis(48 * hour)).size(), 36u);
    EXPECT_EQ(store.buckets(id, Store::Span::Hour, Millis(0), Millis(48 * hour)).size(), 48u);
}

TEST(Store, EventsStandInOrder) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    store.addEvent(id, {Millis(20), "night", "luminance 0.1"});
    store.addEvent(id, {Millis(10), "source", "live"});
    const auto events = store.events(id, Millis(0), Millis(100));
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].kind, "source");
    EXPECT_EQ(events[1].text, "luminance 0.1");
}

TEST(Store, ExportsCsvWithOneColumnAStageAndClass) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    Measurement all = reading(1000, 600);
    all.stageTokens.clear();
    all.classShares.clear();
    store.add(id, {all, reading(86'400'123, 600, true)});
    std::ostringstream out;
    EXPECT_EQ(store.exportCsv(out, id, Millis(0), Millis(100'000'000), {"road"}), 2);
    EXPECT_EQ(out.str(),
              "time,frame,phase,luminance,tokens_in,tokens_stage_1,tokens_stage_2,tokens_kept,capture_ms,"
              "network_ms,"
              "encoder_ms,merge_ms,draw_ms,dropped,share road,share class_1\n"
              "1970-01-01T00:00:01.000Z,1,day,0.5,1024,,,1024,1,70,60,2,3,4,,\n"
              "1970-01-02T00:00:00.123Z,86400,night,0.125,1024,780,600,600,1,70,60,2,3,4,0.25,0.75\n");
}

TEST(Store, ReuseIsKeptAndExported) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    Measurement reused = reading(1000, 600);
    reused.stageTokens.clear();
    reused.recomputed = 0.125, reused.tokenAge = 7.5, reused.savedMs = -2.25;
    reused.setup = {"street", "reuse", {}};
    store.add(id, {reused, reading(2000, 600)});
    const auto rows = store.measurements(id, Millis(0), Millis(10'000));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].recomputed, 0.125);
    EXPECT_EQ(rows[0].tokenAge, 7.5);
    EXPECT_EQ(rows[0].savedMs, -2.25);
    EXPECT_EQ(rows[0].tokensKept(), 1024);
    EXPECT_EQ(rows[0].tokensComputed(), 128);
    EXPECT_FALSE(rows[1].recomputed || rows[1].tokenAge || rows[1].savedMs);
    EXPECT_EQ(rows[1].tokensComputed(), 600);
    const auto minutes = store.buckets(id, Store::Span::Minute, Millis(0), Millis(60'000));
    ASSERT_EQ(minutes.size(), 1u);
    EXPECT_EQ(minutes[0].tokensLeast, 128) << "the timeline shows the tokens that were computed";
    EXPECT_EQ(minutes[0].of(Summed::TokenAge).count, 1) << "of two readings one is with reuse";
    EXPECT_EQ(minutes[0].of(Summed::TokenAge).mean, 7.5);
    EXPECT_EQ(minutes[0].of(Summed::SavedMs).count, 1);
    EXPECT_EQ(minutes[0].of(Summed::SavedMs).mean, -2.25);
    DayNightStatistics statistics;
    store.addTo(statistics, id, reused.setup, Millis(0), Millis(10'000));
    EXPECT_EQ(statistics.day().kept.mean(), 128);
    std::ostringstream csv, json;
    store.exportCsv(csv, id, Millis(0), Millis(10'000), {"road", "car"});
    EXPECT_NE(csv.str().find("share car,recomputed,token_age,saved_ms\n"), std::string::npos) << csv.str();
    EXPECT_NE(csv.str().find(",0.25,0.75,0.125,7.5,-2.25\n"), std::string::npos) << csv.str();
    EXPECT_NE(csv.str().find(",0.25,0.75,,,\n"), std::string::npos) << csv.str();
    store.exportJson(json, id, Millis(0), Millis(10'000));
    EXPECT_NE(json.str().find("\"recomputed\":0.125,\"token_age\":7.5,\"saved_ms\":-2.25"), std::string::npos)
        << json.str();
}

TEST(Store, RegionsGoWithTheirReading) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    Measurement with = reading(1000, 600);
    with.regions = {{"door", 40, 12, {0.1, 0.9}}, {"street", 100, 61, {}}};
    store.add(id, {with, reading(2000, 610)});
    const auto rows = store.measurements(id, Millis(0), Millis(10'000));
    ASSERT_EQ(rows.size(), 2u);
    ASSERT_EQ(rows[0].regions.size(), 2u);
    EXPECT_EQ(rows[0].regions[1].name, "street");
    EXPECT_TRUE(rows[1].regions.empty());
    const auto door = store.regionReadings(id, "door", Millis(0), Millis(10'000));
    ASSERT_EQ(door.size(), 1u);
    EXPECT_EQ(door[0].second.tokens, 12);
    EXPECT_EQ(door[0].second.classShares, (std::vector<double>{0.1, 0.9}));
    Retention short_;
    short_.readings = std::chrono::hours(1);
    EXPECT_FALSE(store.apply(short_, Millis(24 * 3'600'000)));
    EXPECT_TRUE(store.regionReadings(id, "door", Millis(0), Millis(10'000)).empty());
}

TEST(Store, RetentionGoesInBoundedSteps) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto street = store.source("street"), yard = store.source("yard");
    for (int i = 0; i < 10; ++i)
        store.add(i % 2 == 0 ? street : yard, {reading(i * 1000, 600)});
    const Millis later(30LL * 24 * 3'600'000);
    int calls = 1;
    while (store.apply(Retention{}, later, 4))
        ++calls;
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(store.count(street) + store.count(yard), 0);
}

TEST(Store, ExportsJson) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    Measurement first = reading(1000, 600);
    first.regions = {{"a \"door\"", 40, 12, {1, 0}}};
    store.add(id, {first, reading(4'000'000, 610, true)});
    store.addEvent(id, {Millis(1500), "alert", "busy"});
    std::ostringstream out;
    EXPECT_EQ(store.exportJson(out, id, Millis(0), Millis(10'000'000), {"road"}), 2);
    const auto json = nlohmann::json::parse(out.str());
    ASSERT_EQ(json["readings"].size(), 2u);
    EXPECT_EQ(json["readings"][0]["time"], "1970-01-01T00:00:01.000Z");
    EXPECT_EQ(json["readings"][0]["shares"]["road"], 0.25);
    EXPECT_EQ(json["readings"][0]["shares"]["class_1"], 0.75);
    EXPECT_EQ(json["readings"][0]["regions"]["a \"door\""]["tokens"], 12);
    EXPECT_EQ(json["readings"][1]["phase"], "night");
    EXPECT_EQ(json["events"][0]["text"], "busy");
    EXPECT_EQ(json["day_night"]["day"]["tokens_kept"], 600);
    EXPECT_EQ(json["day_night"]["night"]["readings"], 1);
    EXPECT_NEAR(json["day_night"]["difference_percent"], 100 * 10 / 600., 1e-9);
    std::ostringstream part;
    EXPECT_EQ(store.exportJson(part, id, Millis(2000), Millis(10'000'000)), 1);
    const auto night = nlohmann::json::parse(part.str());
    EXPECT_EQ(night["events"].size(), 0u);
    EXPECT_EQ(night["day_night"]["day"]["readings"], 0);
    EXPECT_FALSE(night["day_night"].contains("difference_percent"));  // there are no readings by day
}

/// Returns all text that a store writes: the lists in the file, and both exports.
std::string textsOf(const std::string& file) {
    std::ostringstream out;
    {
        Store store(file);
        const auto id = store.source("s");
        Measurement with = reading(1000, 600);
        with.classShares = {0.167295, 0, 0.240885};
        with.regions = {{"door", 40, 12, {0.1, 0.9}}};
        with.networkMs = 70.25;
        store.add(id, {with, reading(4'000'000, 610, true)});
        store.exportCsv(out, id, Millis(0), Millis(10'000'000));
        store.exportJson(out, id, Millis(0), Millis(10'000'000), {"road"});
    }
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    const auto append = [](void* to, int, char** values, char**) {
        *static_cast<std::ostringstream*>(to) << values[0] << '\n';
        return 0;
    };
    for (const char* query : {"SELECT class_shares FROM reading", "SELECT class_shares FROM region_reading"})
        EXPECT_EQ(sqlite3_exec(database, query, append, &out, nullptr), SQLITE_OK);
    sqlite3_close(database);
    return out.str();
}

TEST(Store, WritesTheSameInALocaleWithADecimalComma) {
    TempFolder folder;
    const std::string plain = textsOf(folder / "plain.sqlite");
    const test::CommaLocale comma;
    const std::string there = textsOf(folder / "comma.sqlite");
    EXPECT_EQ(there, plain);
    EXPECT_NE(there.find("\n[0.167295,0,0.240885]\n"), std::string::npos) << there;
    EXPECT_NE(there.find("\n[0.1,0.9]\n"), std::string::npos) << there;
}

TEST(Store, ReadsTheSameInALocaleWithADecimalComma) {
    TempFolder folder;
    textsOf(folder / "m.sqlite");
    const test::CommaLocale comma;
    Store store(folder / "m.sqlite");
    const auto rows = store.measurements(store.source("s"), Millis(0), Millis(2000));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].classShares, (std::vector<double>{0.167295, 0, 0.240885}));
    EXPECT_EQ(rows[0].stageTokens, (std::vector<int>{780, 600}));
    ASSERT_EQ(rows[0].regions.size(), 1u);
    EXPECT_EQ(rows[0].regions[0].classShares, (std::vector<double>{0.1, 0.9}));
}

TEST(Store, ExportsWhatStandsBesideAListThatIsNoJson) {
    TempFolder folder;
    const std::string file = folder / "m.sqlite";
    Store store(file);
    const auto id = store.source("s");
    store.add(id, {reading(1000, 600), reading(2000, 610)});
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    const char* spoil = "UPDATE reading SET class_shares = '[0,25,0,00296875]' WHERE time = 2000";
    EXPECT_EQ(sqlite3_exec(database, spoil, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
    std::ostringstream csv, json;
    EXPECT_EQ(store.exportCsv(csv, id, Millis(0), Millis(10'000)), 2);
    EXPECT_NE(csv.str().find(",4,0.25,0.75\n"), std::string::npos) << csv.str();
    EXPECT_EQ(store.exportJson(json, id, Millis(0), Millis(10'000), {}), 2);
    EXPECT_TRUE(nlohmann::json::accept(json.str()));
}

/// The store and the exports have every field of the table in reading.cpp.
TEST(ReadingFields, AreKeptAndExported) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const auto id = store.source("s");
    Measurement m = reading(1000, 600);
    double value = 0;
    for (const ReadingField& field : readingFields())
        if (field.set != nullptr) field.set(m, ++value);
    store.add(id, {m});
    const Measurement read = store.measurements(id, Millis(0), Millis(10'000)).at(0);
    std::ostringstream csv, json;
    store.exportCsv(csv, id, Millis(0), Millis(10'000));
    store.exportJson(json, id, Millis(0), Millis(10'000));
    const std::string head = "," + csv.str().substr(0, csv.str().find('\n')) + ",";
    const auto row = nlohmann::json::parse(json.str())["readings"][0];
    const Bucket minute = store.buckets(id, Store::Span::Minute, Millis(0), Millis(60'000)).at(0);
    for (const ReadingField& field : readingFields()) {
        SCOPED_TRACE(field.name);
        EXPECT_EQ(field.get(read), field.get(m));
        EXPECT_EQ(head.find("," + std::string(field.name) + ",") != std::string::npos, field.csv);
        EXPECT_EQ(row.contains(field.name), field.json);
        EXPECT_TRUE(!field.json || row[field.name].get<double>() == field.get(m)) << field.name;
        EXPECT_TRUE(!field.json || row[field.name].is_number_integer() == field.whole) << field.name;
        EXPECT_TRUE(!field.summed.field || minute.of(*field.summed.field).mean == field.get(m));
    }
}

TEST(NumberList, IsReadWithOrWithoutSpaces) {
    EXPECT_EQ(parseList<double>("[0.5,0.25]"), (std::vector<double>{0.5, 0.25}));
    EXPECT_EQ(parseList<double>("[0.5, 0.25 ]"), (std::vector<double>{0.5, 0.25}));
    EXPECT_EQ(parseList<int>("[780,600]"), (std::vector<int>{780, 600}));
    for (const char* none : {"", "[]", "[", "x"})
        EXPECT_TRUE(parseList<double>(none).empty()) << none;
}

TEST(Csv, QuotesNames) {
    EXPECT_NE(csvHead(0, {"car, parked"}).find("\"share car, parked\""), std::string::npos);
    EXPECT_NE(csvHead(0, {"thing 2"}).find(",share thing 2"), std::string::npos);
    EXPECT_EQ(csvHead(0, {"a\nb"}).find('\n'), std::string::npos);
    EXPECT_NE(csvHead(0, {"a \"b\""}).find("\"share a \"\"b\"\"\""), std::string::npos);
}

}  // namespace
}  // namespace mpm::pipeline

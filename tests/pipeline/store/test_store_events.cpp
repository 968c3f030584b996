#include <gtest/gtest.h>
#include <sqlite3.h>

#include "pipeline/store/store.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

using test::TempFolder;

TEST(Store, ListsAndRemovesEventsOfEverySource) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    {
        Store store(path);
        const auto street = store.source("street"), yard = store.source("yard");
        store.addEvent(street, {Millis(1000), "alert", "bright: 1"});
        store.addEvent(yard, {Millis(3000), "night", ""});
        store.addEvent(street, {Millis(2000), "alert", "bright: 2"});
    }
    Store store(path);
    const std::vector<StoredEvent> all = store.newestEvents(10);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].source, "yard");
    EXPECT_EQ(all[0].event.kind, "night");
    EXPECT_EQ(all[1].event.text, "bright: 2");
    EXPECT_EQ(store.newestEvents(1).size(), 1u);
    store.removeEvents({all[1].id, all[0].id, 12345});
    const std::vector<StoredEvent> left = store.newestEvents(10);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].id, all[2].id);
    EXPECT_EQ(left[0].event.time.count(), 1000);
}

TEST(Store, GivesTheShareOfAClassByMinute) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    std::int64_t id = 0;
    {
        Store store(path);
        id = store.source("street");
        const auto add = [&](std::int64_t ms, const char* model, std::vector<double> shares) {
            Measurement m;
            m.time = Millis(ms);
            m.classShares = std::move(shares);
            m.setup = {model, "mpm", {2, 5}};
            store.add(id, {m});
        };
        add(60'000, "vit", {0.25, 0.5});
        add(61'000, "vit", {0.75, 0.125});
        add(62'000, "other", {0, 1});  // another model, so class 1 is another class
        add(180'000, "vit", {0.1, 0});
        add(240'000, "vit", {0.1});
    }
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    for (const char* wrong : {"[0,", "[0,\"x\"]", "", "[0,[1]]"})
        sqlite3_exec(
            raw,
            ("INSERT INTO reading SELECT NULL, source, 190000, frame, tokens_in, stage_tokens, luminance, "
             "night, "
             "capture_ms, network_ms, encoder_ms, merge_ms, draw_ms, dropped, '" +
             std::string(wrong) +
             "', setup, pass, recomputed, token_age, saved_ms, objects, object_counts FROM reading WHERE "
             "time = 180000 LIMIT 1")
                .c_str(),
            nullptr, nullptr, nullptr);
    sqlite3_close(raw);
    const Store store(path);
    EXPECT_EQ(store.count(id), 9);
    const auto share = [&](int classId, std::int64_t to, Millis step = std::chrono::minutes(1)) {
        return store.quantity(id, "vit", {Quantity::Kind::ClassShare, classId, {}}, Millis(0), Millis(to),
                              step);
    };
    const std::vector<QuantitySpan> minutes = share(1, 1'000'000);
    ASSERT_EQ(minutes.size(), 2u);
    EXPECT_EQ(minutes[0].time.count(), 60'000);
    EXPECT_EQ(minutes[0].count, 2);
    EXPECT_DOUBLE_EQ(minutes[0].mean, 0.3125);
    EXPECT_DOUBLE_EQ(minutes[0].least, 0.125);
    EXPECT_DOUBLE_EQ(minutes[0].most, 0.5);
    EXPECT_EQ(minutes[1].count, 1);
    EXPECT_TRUE(share(7, 1'000'000).empty());
    EXPECT_EQ(share(0, 61'000).size(), 1u);
    const std::vector<QuantitySpan> readings = share(1, 100'000, Millis(1));
    ASSERT_EQ(readings.size(), 2u);
    EXPECT_EQ(readings[1].time.count(), 61'000);
    EXPECT_DOUBLE_EQ(readings[1].mean, 0.125);
}

/// Quantities of a region are the same from a reading and from the store, and do not include other regions.
TEST(Store, GivesQuantitiesOfRegions) {
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const std::int64_t id = store.source("street"), other = store.source("yard");
    const auto add = [&](std::int64_t source, std::int64_t ms, const char* model, const char* region,
                         int tokens) {
        Measurement m;
        m.time = Millis(ms);
        m.regions = {{region, 8, tokens, {0.125 * tokens, 0.5}}, {"empty", 0, 0, {}}};
        m.setup = {model, "mpm", {2, 5}};
        store.add(source, {m});
        return m;
    };
    const Measurement first = add(id, 60'000, "vit", "door", 4);
    add(id, 61'000, "vit", "door", 2);
    add(id, 62'000, "other", "door", 6);
    add(id, 63'000, "vit", "gate", 8);
    add(other, 64'000, "vit", "door", 8);
    const auto minute = [&](const Quantity& quantity) {
        const auto found = store.quantity(id, "vit", quantity, Millis(0), Millis(1'000'000));
        EXPECT_EQ(found.size(), 1u);
        return found.empty() ? QuantitySpan() : found.front();
    };
    const Quantity tokens{Quantity::Kind::RegionTokens, -1, "door"};
    const Quantity share{Quantity::Kind::RegionShare, 0, "door"};
    EXPECT_DOUBLE_EQ(minute(tokens).mean, 0.5);  // from readings of all models
    EXPECT_DOUBLE_EQ(minute(tokens).least, 0.25);
    EXPECT_DOUBLE_EQ(minute(share).mean, 0.375);
    EXPECT_EQ(minute(share).count, 2);
    EXPECT_EQ(valueOf(tokens, first), 0.5);
    EXPECT_EQ(valueOf(share, first), 0.5);
    EXPECT_FALSE(valueOf({Quantity::Kind::RegionTokens, -1, "empty"}, first));
    EXPECT_FALSE(valueOf({Quantity::Kind::RegionTokens, -1, "gate"}, first));
    EXPECT_FALSE(valueOf({Quantity::Kind::ClassShare, 0, {}}, first));
    EXPECT_TRUE(
        store.quantity(id, "vit", {Quantity::Kind::RegionTokens, -1, "empty"}, Millis(0), Millis(1'000'000))
            .empty());
}

/// Counts the statements that delete minutes and hours, and the rows that these statements scan.
class Deletions {
public:
    Deletions() {
        s_count = s_scanned = 0;
        sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch));
    }
    ~Deletions() { sqlite3_reset_auto_extension(); }
    int count() const { return s_count; }
    int scanned() const { return s_scanned; }

private:
    static int watch(sqlite3* database, char**, const sqlite3_api_routines*) {
        return sqlite3_trace_v2(database, SQLITE_TRACE_PROFILE, note, nullptr);
    }
    static int note(unsigned, void*, void* ended, void*) {
        auto* statement = static_cast<sqlite3_stmt*>(ended);
        if (std::string(sqlite3_sql(statement)).rfind("DELETE FROM bucket", 0) != 0) return 0;
        ++s_count;
        s_scanned += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
        return 0;
    }
    static inline int s_count, s_scanned;
};

/// Deletion locks the store for other programs, so it must not read minutes that it keeps.
TEST(Store, RetentionReadsNoMinuteThatItKeeps) {
    const Deletions deletions;
    TempFolder folder;
    Store store(folder / "m.sqlite");
    const std::int64_t street = store.source("street"), yard = store.source("yard");
    const Millis hour = std::chrono::hours(1);
    for (int i = 0; i < 10; ++i)
        for (const std::int64_t source : {street, yard}) {
            Measurement m;
            m.time = i * hour;
            store.add(source, {m});
        }
    Retention retention;
    retention.readings = std::chrono::hours(1);
    retention.minutes = std::chrono::hours(5);
    while (store.apply(retention, 10 * hour, 4))
        EXPECT_EQ(deletions.count(), 0) << "old readings are left";
    EXPECT_EQ(deletions.count(), 2) << "once for each source";
    EXPECT_EQ(deletions.scanned(), 0);
    for (const std::int64_t source : {street, yard}) {
        EXPECT_EQ(store.count(source), 1);
        EXPECT_EQ(store.buckets(source, Store::Span::Minute, Millis(0), 10 * hour).size(), 5u);
        EXPECT_EQ(store.buckets(source, Store::Span::Hour, Millis(0), 10 * hour).size(), 10u);
    }
}

}  // namespace
}  // namespace mpm::pipeline

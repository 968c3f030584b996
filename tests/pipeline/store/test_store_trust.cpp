// Stores that other users wrote or can read.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <climits>
#include <cmath>
#include <fstream>
#include <sstream>

#include "pipeline/store/store.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using Kind = StoreError::Kind;

Measurement trustReading(std::int64_t ms) {
    Measurement m;
    m.time = Millis(ms);
    m.tokensIn = 1024;
    m.stageTokens = {780, 600};
    return m;
}

StoreError errorOf(const std::string& path) {
    try {
        Store{path};
    } catch (const StoreError& error) {
        return error;
    }
    return {Kind::Other, "nothing was reported"};
}

void execute(const std::string& path, const char* sql) {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(raw);
    sqlite3_close(raw);
}

mode_t modeOf(const std::string& path) {
    struct stat there {};
    EXPECT_EQ(stat(path.c_str(), &there), 0) << path;
    return there.st_mode & 07777;
}

std::string contentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(StoreTrust, OnlyTheOwnerMayReadIt) {
    const mode_t before = umask(0);
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    {
        Store store(path);
        store.add(store.source("s"), {trustReading(1000)});
        for (const char* beside : {"", "-wal", "-shm"})
            EXPECT_EQ(modeOf(path + beside), 0600u) << beside;
    }
    chmod(path.c_str(), 0644);  // as earlier versions created it
    std::ofstream(path + "-wal").close();
    Store store(path);
    umask(before);
    EXPECT_EQ(modeOf(path), 0600u);
    EXPECT_EQ(modeOf(path + "-wal"), 0600u);
}

TEST(StoreTrust, LinksAndPipesAreRefused) {
    TempFolder folder;
    { Store store(folder / "real.sqlite"); }
    fs::create_symlink(folder / "real.sqlite", folder / "link.sqlite");
    fs::create_symlink(folder / "nothing", folder / "dangling.sqlite");
    ASSERT_EQ(mkfifo((folder / "pipe.sqlite").c_str(), 0600), 0);
    fs::create_directory(folder / "folder.sqlite");
    for (const char* name : {"link.sqlite", "dangling.sqlite", "pipe.sqlite", "folder.sqlite"})
        EXPECT_EQ(errorOf(folder / name).kind(), Kind::CannotOpen) << name;
    EXPECT_FALSE(fs::exists(folder / "nothing"));
    // A link in place of a parent folder is allowed: the owner may use it to choose a disk.
    fs::create_directory(folder / "disk");
    fs::create_directory_symlink(folder / "disk", folder / "home");
    EXPECT_NO_THROW(Store{folder / "home/m.sqlite"});
}

TEST(StoreTrust, NothingInAForeignFileIsRun) {
    const char* const kAdded[] = {
        "CREATE TRIGGER evil AFTER INSERT ON reading BEGIN UPDATE source SET name = 'owned'; END",
        "CREATE VIEW evil AS SELECT * FROM reading",
        "CREATE INDEX evil ON reading(abs(time))",
        "CREATE TABLE evil(x)",
        "ALTER TABLE event ADD COLUMN evil TEXT DEFAULT 'x'",
        "DROP TABLE reading; CREATE VIEW reading AS SELECT 1",
        "DROP INDEX event_by_time"};
    for (const char* added : kAdded) {
        TempFolder folder;
        const std::string path = folder / "m.sqlite";
        { Store(path).source("s"); }
        execute(path, added);
        const StoreError error = errorOf(path);
        EXPECT_EQ(error.kind(), Kind::Damaged) << added << ": " << error.what();
    }
    TempFolder folder;
    { Store(folder / "m.sqlite").source("s"); }
    execute(folder / "m.sqlite", "ANALYZE");  // adds a table of SQLite
    EXPECT_NO_THROW(Store{folder / "m.sqlite"});
}

TEST(StoreTrust, AnotherProgramsFileIsLeftAsItIs) {
    for (const char* sql :
         {"CREATE TABLE letters(x); INSERT INTO letters VALUES('dear')",
          "CREATE TABLE letters(x); PRAGMA user_version = 1", "PRAGMA application_id = 77"}) {
        TempFolder folder;
        const std::string path = folder / "m.sqlite";
        execute(path, sql);
        const std::string before = contentOf(path);
        EXPECT_EQ(errorOf(path).kind(), Kind::Damaged) << sql;
        EXPECT_EQ(contentOf(path), before) << sql;
    }
}

TEST(StoreTrust, NamesOfAnErrorAreSafeToPrint) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    { Store store(path); }
    execute(path, ("CREATE TABLE \"\x1b]0;x\x07" + std::string(100'000, 'y') + "\"(x)").c_str());
    const std::string said = errorOf(path).what();
    EXPECT_EQ(said.find('\x1b'), std::string::npos);
    EXPECT_LT(said.size(), 600u);
}

TEST(StoreTrust, ADamagedFileIsSetAsideOnce) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    std::ofstream(path) << std::string(20'000, 'x');
    const std::string aside = Store::setAside(path);
    EXPECT_EQ(contentOf(aside), std::string(20'000, 'x'));
    EXPECT_EQ(aside.rfind(path + ".damaged-", 0), 0u);
    Store store(path);
    EXPECT_EQ(Store::setAside(path), "") << "a good one stays";
    EXPECT_FALSE(store.moved());
    fs::rename(path, path + ".elsewhere");
    EXPECT_TRUE(store.moved());
    Store another(path);
    EXPECT_TRUE(store.moved());
    EXPECT_FALSE(another.moved());
}

TEST(StoreTrust, NumbersAndTimesOfAnotherFileDoNoHarm) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    {
        Store store(path);
        store.add(store.source("s"), {trustReading(1000), trustReading(5000)});
    }
    execute(path,
            "UPDATE reading SET tokens_in = 9223372036854775807, stage_tokens = '[1e300,-1e300,1e999]', "
            "frame = -9223372036854775808, luminance = 1e999 WHERE time = 1000;"
            "INSERT INTO reading SELECT NULL, source, -9223372036854775808, frame, tokens_in, stage_tokens, "
            "luminance, night, capture_ms, network_ms, encoder_ms, merge_ms, draw_ms, dropped, class_shares, "
            "setup, pass, recomputed, token_age, saved_ms, objects, object_counts "
            "FROM reading WHERE time = 5000;"
            "UPDATE bucket SET count = 0, time = 9223372036854775807 WHERE span = 3600000;"
            "INSERT INTO event VALUES(NULL, 1, 9223372036854775807, 'x', x'ff00fe')");
    Store store(path);
    const auto id = store.source("s");
    const auto rows = store.measurements(id, Millis(INT64_MIN), Millis(INT64_MAX));
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1].tokensIn, INT_MAX);
    EXPECT_EQ(rows[1].stageTokens, (std::vector<int>{INT_MAX, INT_MIN, 0}));
    for (const Bucket& bucket : store.buckets(id, Store::Span::Hour, Millis(INT64_MIN), Millis(INT64_MAX)))
        EXPECT_TRUE(std::isfinite(bucket.tokensMean));
    std::ostringstream csv, json;
    EXPECT_EQ(store.exportCsv(csv, id, Millis(INT64_MIN), Millis(INT64_MAX)), 3);
    EXPECT_EQ(store.exportJson(json, id, Millis(INT64_MIN), Millis(INT64_MAX), {"\xff label"}), 2);
    EXPECT_NE(timeText(Millis(INT64_MAX)), "");
    EXPECT_NE(timeText(Millis(INT64_MIN)), "");
}

}  // namespace
}  // namespace mpm::pipeline

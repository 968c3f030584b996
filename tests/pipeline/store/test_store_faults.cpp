#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "pipeline/store/store.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

using test::TempFolder;
using Kind = StoreError::Kind;

Measurement faultsReading(std::int64_t ms) {
    Measurement m;
    m.time = Millis(ms);
    m.tokensIn = 1024;
    m.stageTokens = {780, 600};
    m.classShares = std::vector<double>(11, 0.0909);
    return m;
}

template <typename Call>
Kind kindOf(Call call) {
    try {
        call();
    } catch (const StoreError& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        return error.kind();
    }
    ADD_FAILURE() << "nothing was reported";
    return Kind::Other;
}

/// Runs `work` in a separate process and returns the result.
template <typename Work>
int inChild(Work work) {
    const pid_t child = fork();
    if (child == 0) _exit(work());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StoreFaults, NoSuchFolder) {
    EXPECT_EQ(kindOf([] { Store("/nowhere/at/all/m.sqlite"); }), Kind::CannotOpen);
}

TEST(StoreFaults, NotAStore) {
    TempFolder folder;
    std::ofstream(folder / "m.sqlite") << std::string(20'000, 'x');
    EXPECT_EQ(kindOf([&] { Store(folder / "m.sqlite"); }), Kind::Damaged);
    EXPECT_EQ(std::filesystem::file_size(folder / "m.sqlite"), 20'000u) << "the damaged file was touched";
}

TEST(StoreFaults, DamagedInTheMiddle) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    {
        Store store(path);
        const auto id = store.source("s");
        std::vector<Measurement> many;
        for (int i = 0; i < 5000; ++i)
            many.push_back(faultsReading(i * 1000));
        store.add(id, many);
    }
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(8192);
        for (int i = 0; i < 400'000; ++i)
            file.put(static_cast<char>(i * 7));
    }
    const Kind kind = kindOf([&] {
        Store store(path);
        store.measurements(store.source("s"), Millis(0), Millis(1LL << 40));
    });
    EXPECT_EQ(kind, Kind::Damaged);
}

TEST(StoreFaults, NewerSchemaIsRefusedAndKept) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    { Store store(path); }
    sqlite3* raw = nullptr;
    sqlite3_open(path.c_str(), &raw);
    sqlite3_exec(raw, "PRAGMA user_version = 99", nullptr, nullptr, nullptr);
    sqlite3_close(raw);
    EXPECT_EQ(kindOf([&] { Store{path}; }), Kind::NewerSchema);
}

/// Executes `sql` in the file.
void runSql(const std::string& path, const char* sql) {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(raw);
    sqlite3_close(raw);
}

constexpr const char* kBackToFirstSchema =
    "ALTER TABLE bucket DROP COLUMN tokens_in_sum; ALTER TABLE bucket DROP COLUMN tokens_in_count;"
    "ALTER TABLE reading DROP COLUMN objects; ALTER TABLE reading DROP COLUMN object_counts;"
    "ALTER TABLE region_reading DROP COLUMN object_counts; ALTER TABLE source DROP COLUMN next_object;"
    "ALTER TABLE bucket DROP COLUMN objects_sum; ALTER TABLE bucket DROP COLUMN objects_count;"
    "DROP TABLE object;"
    "PRAGMA user_version = 5";

TEST(StoreFaults, AFileOfTheFirstSchemaIsMigrated) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    {
        Store store(path);
        store.add(store.source("s"), {faultsReading(1000)});
    }
    runSql(path, kBackToFirstSchema);
    Store store(path);
    const auto id = store.source("s");
    EXPECT_EQ(store.count(id), 1);
    EXPECT_TRUE(std::filesystem::exists(path + ".v5"));
    store.add(id, {faultsReading(61'000)});
    const auto minutes = store.buckets(id, Store::Span::Minute, Millis(0), Millis(600'000));
    ASSERT_EQ(minutes.size(), 2u);
    EXPECT_EQ(minutes[0].of(Summed::TokensIn).count, 0) << "the file did not keep it";
    EXPECT_EQ(minutes[1].of(Summed::TokensIn).count, 1);
    EXPECT_EQ(minutes[1].of(Summed::TokensIn).mean, faultsReading(0).tokensIn);
    EXPECT_EQ(store.objects(id).nextId, 1);
    EXPECT_FALSE(store.measurements(id, Millis(0), Millis(2000))[0].objects);
}

/// Earlier versions added columns one after the other, so the text of the schema differs in their files.
TEST(StoreFaults, AFileWhoseColumnsWereAddedOpens) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    {
        Store store(path);
        store.add(store.source("s"), {faultsReading(1000)});
    }
    runSql(path, kBackToFirstSchema);
    for (const char* column : {"saved_sum REAL NOT NULL DEFAULT 0", "saves INTEGER NOT NULL DEFAULT 0",
                               "age_sum REAL NOT NULL DEFAULT 0", "ages INTEGER NOT NULL DEFAULT 0"}) {
        const std::string name(column, std::strchr(column, ' '));
        runSql(path, ("ALTER TABLE bucket DROP COLUMN " + name).c_str());
    }
    runSql(path,
           "ALTER TABLE bucket ADD COLUMN ages INTEGER NOT NULL DEFAULT 0;"
           "ALTER TABLE bucket ADD COLUMN age_sum REAL NOT NULL DEFAULT 0;"
           "ALTER TABLE bucket ADD COLUMN saves INTEGER NOT NULL DEFAULT 0;"
           "ALTER TABLE bucket ADD COLUMN saved_sum REAL NOT NULL DEFAULT 0");
    Store store(path);
    EXPECT_EQ(store.count(store.source("s")), 1);
}

TEST(StoreFaults, UnreleasedSchemasAreSetAside) {
    for (int schema = 1; schema < Store::kFirstSchema; ++schema) {
        SCOPED_TRACE(schema);
        TempFolder folder;
        const std::string path = folder / "m.sqlite";
        { Store store(path); }
        runSql(path,
               ("ALTER TABLE bucket DROP COLUMN saved_sum; PRAGMA user_version = " + std::to_string(schema))
                   .c_str());
        EXPECT_EQ(kindOf([&] { Store{path}; }), Kind::OlderSchema);
        const std::string aside = Store::setAside(path);
        EXPECT_EQ(aside.rfind(path + ".old-", 0), 0u) << aside;
        EXPECT_EQ(kindOf([&] { Store{aside}; }), Kind::OlderSchema) << "the file is kept as it was";
        Store store(path);
        EXPECT_EQ(store.count(store.source("s")), 0);
    }
}

TEST(StoreFaults, LockedByAnotherProgram) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    Store store(path);
    const auto id = store.source("s");
    sqlite3* raw = nullptr;
    sqlite3_open(path.c_str(), &raw);
    ASSERT_EQ(sqlite3_exec(raw, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(kindOf([&] { store.add(id, {faultsReading(1)}); }), Kind::Locked);
    sqlite3_exec(raw, "COMMIT", nullptr, nullptr, nullptr);
    sqlite3_close(raw);
    store.add(id, {faultsReading(1)});
    EXPECT_EQ(store.count(id), 1);
}

// A limit on the size of files makes writes fail as on a full disk. The limit applies to the whole process,
// so a child is used.
TEST(StoreFaults, AFullDiskIsReportedAndLosesNothingCommitted) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    const int result = inChild([&] {
        Store store(path);
        const auto id = store.source("s");
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit{};
        limit.rlim_cur = limit.rlim_max = 300'000;
        setrlimit(RLIMIT_FSIZE, &limit);
        int committed = 0;
        try {
            for (int i = 0; i < 10'000; ++i, ++committed)
                store.add(id, {faultsReading(i * 1000)});
        } catch (const StoreError& error) {
            if (error.kind() != Kind::DiskFull || committed == 0) return 1;
            return store.count(id) == committed ? 0 : 2;
        }
        return 3;
    });
    EXPECT_EQ(result, 0);
    Store store(path);
    EXPECT_GT(store.count(store.source("s")), 0);
}

TEST(StoreFaults, WhatWasCommittedOutlivesAKill) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    int acknowledged[2];
    ASSERT_EQ(pipe(acknowledged), 0);
    const pid_t child = fork();
    if (child == 0) {
        Store store(path);
        const auto id = store.source("s");
        for (std::int32_t i = 1;; ++i) {
            store.add(id, {faultsReading(i * 1000)});
            if (write(acknowledged[1], &i, sizeof i) != sizeof i) _exit(1);
        }
    }
    close(acknowledged[1]);
    std::int32_t last = 0;
    while (last < 40 && read(acknowledged[0], &last, sizeof last) == sizeof last) {
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (std::int32_t more; read(acknowledged[0], &more, sizeof more) == sizeof more;)
        last = more;
    close(acknowledged[0]);
    Store store(path);
    EXPECT_GE(store.count(store.source("s")), last);
    EXPECT_GE(last, 40);
}

TEST(StoreFaults, TwoStoresOnOneFileGetOn) {
    TempFolder folder;
    Store writer(folder / "m.sqlite"), reader(folder / "m.sqlite");
    const auto id = writer.source("s");
    for (int i = 0; i < 50; ++i) {
        writer.add(id, {faultsReading(i * 1000)});
        EXPECT_EQ(reader.count(id), i + 1);
    }
}

}  // namespace
}  // namespace mpm::pipeline

// Tests the store, once for each system call that may fail: all data that were reported as stored must be
// there, and no transaction may be incomplete.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "faults/trial.hpp"
#include "pipeline/store/store.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

using pipeline::Millis;

constexpr int kFewPoints = 26, kBefore = 2, kAfter = 5;
constexpr Millis kEnd{1LL << 45};

int batchesIn(const fs::path& file) {
    pipeline::Store store(file.string());
    const std::int64_t source = store.source("camera");
    const auto found = store.measurements(source, Millis(0), kEnd);
    for (size_t i = 0; i < found.size(); ++i)
        if (found[i].frame != static_cast<std::int64_t>(i) || found[i].regions.size() != 1) return -1;
    std::int64_t counted = 0;
    for (const auto& bucket : store.buckets(source, pipeline::Store::Span::Hour, Millis(0), kEnd))
        counted += bucket.count;
    const auto kept = static_cast<std::int64_t>(found.size());
    return kept % 3 == 0 && counted == kept ? static_cast<int>(kept / 3) : -1;
}

int saidKept(const Ending& ending, int before) {
    std::istringstream lines(ending.out);
    int kept = before;
    for (std::string word; lines >> word;)
        kept += word == "kept";
    return kept;
}

TEST(StoreFaults, WhatItSaidIsKeptIsThere) {
    Faulty program{
        "store", {MPM_STORE_PROGRAM, "@/store.sqlite", std::to_string(kBefore), std::to_string(kAfter)}, {}};
    Faulty first = program;
    first.command[2] = "0";
    first.command[3] = std::to_string(kBefore);
    const TempFolder folder;
    fs::create_directories(folder / "work");
    ASSERT_EQ(runWith(first, "", folder / "work").status, 0);
    // If no file exists, the program creates it and begins with batch 0; otherwise, it continues the file.
    program.prepare = [&](const fs::path& to, bool old) {
        program.command[2] = old ? std::to_string(kBefore) : "0";
        if (old) fs::copy_file(folder / "work/store.sqlite", to / "store.sqlite");
    };
    program.judge = [&](const fs::path& to, const Ending& ending) -> std::string {
        const int before = program.command[2] == "0" ? 0 : kBefore, said = saidKept(ending, before);
        try {
            const int there = batchesIn(to / "store.sqlite");
            const bool good = there == said || there == said + 1;
            if (good && (ending.status != 0 || there == kAfter)) return {};
            return "said " + std::to_string(said) + " batches are kept, and there are " +
                   std::to_string(there);
        } catch (const std::exception& error) {
            return std::string("left a store that does not open: ") + error.what();
        }
    };
    program.leaves = {"store.sqlite"};
    program.prefix = "store: ";
    const int points = faultPoints(kFewPoints);
    EXPECT_GE(tryFaults(program, points), points);
}

}  // namespace
}  // namespace mpm::test

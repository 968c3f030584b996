// Joining the parts of an evaluation takes time in proportion to the number of parts.
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>

#include "pipeline/measure/counts_file.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

/// Writes finished parts with a single group each, and returns their paths.
std::vector<std::string> writeParts(const test::TempFolder& folder, int count) {
    EvalHead head;
    head.settings.emplace_back();
    head.groups = static_cast<size_t>(count);
    std::vector<std::string> paths;
    for (int part = 1; part <= count; ++part) {
        head.shard = {part, count};
        Group group;
        group.index = static_cast<size_t>(part - 1);
        paths.push_back(folder / (std::to_string(count) + "." + std::to_string(part)));
        std::ofstream(paths.back()) << lineOf(toJson(head)) << lineOf(toJson(group));
    }
    return paths;
}

TEST(Join, ReadsEachLineOnce) {
    const test::TempFolder folder;
    int heads = 0, rows = 0;
    const auto begin = [&](const Json&) { return ++heads, size_t{1}; };
    joinShards(writeParts(folder, 300), {"mpm_counts", begin, [&](const Json&) { ++rows; }});
    EXPECT_EQ(heads, 300);
    EXPECT_EQ(rows, 300);
}

// Both measurements join 3000 files in total, so the machine's speed has no effect. If the time were
// quadratic, the second would take ten times as long.
TEST(Join, TakesTimeInProportionToTheParts) {
    const test::TempFolder folder;
    const std::vector<std::string> few = writeParts(folder, 300), many = writeParts(folder, 3000);
    const std::clock_t start = std::clock();
    for (int round = 0; round < 10; ++round)
        EXPECT_EQ(joinCounts(few).groups.size(), few.size());
    const std::clock_t between = std::clock();
    EXPECT_EQ(joinCounts(many).groups.size(), many.size());
    EXPECT_LT(std::clock() - between, 4 * (between - start));
}

}  // namespace
}  // namespace mpm::pipeline

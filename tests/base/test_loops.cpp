// Tests teams of threads: each loop calls its body once for each index, and exceptions reach the caller.
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/loops.hpp"

namespace mpm {
namespace {

/// Runs loops of many sizes. Each loop uses the results of the previous loop.
void runLoops(Team& team) {
    std::vector<int> sums(300, 0);
    for (int loop = 0; loop < 200; ++loop) {
        const int count = loop % 7 == 0 ? loop % 3 : static_cast<int>(sums.size());
        std::vector<int> calls(count, 0);
        std::atomic<bool> memberFits{true};
        const std::vector<int> before = sums;
        team.each(count, [&](int index, int member) {
            ++calls[index];
            sums[index] += before[(index + 1) % before.size()] + 1;
            if (member < 0 || member >= team.size()) memberFits = false;
        });
        ASSERT_EQ(calls, std::vector<int>(count, 1));
        ASSERT_TRUE(memberFits);
        for (int i = 0; i < count; ++i)
            sums[i] = loop;
    }
}

TEST(Team, CallsEachIndexOnce) {
    const int threads = cv::getNumThreads();
    for (int most : {0, 1, 2, 5, 100}) {
        cv::setNumThreads(std::max(4, threads));  // on a small machine, more threads than cores
        int leads = 0;
        Team::run(most, [&](Team& team) {
            ++leads;
            EXPECT_LE(team.size(), std::max(1, most));
            runLoops(team);
        });
        EXPECT_EQ(leads, 1);
    }
    cv::setNumThreads(threads);
}

TEST(Team, WorksInsideLoopsAndInSeveralThreads) {
    std::atomic<int> leads{0};
    const auto lead = [&](Team& team) {
        runLoops(team);
        ++leads;
    };
    parallelFor(
        6, [&](int) { Team::run(4, lead); }, 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] { Team::run(4, lead); });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(leads, 9);
}

TEST(Team, ExceptionsReachTheCaller) {
    Team::run(4, [&](Team& team) {
        for (int bad = 0; bad < 64; ++bad) {
            const auto body = [&](int index, int) {
                if (index == bad) throw std::runtime_error("bad index");
            };
            EXPECT_THROW(team.each(64, body), std::runtime_error);
        }
        runLoops(team);  // the team still works
    });
    EXPECT_ANY_THROW(Team::run(4, [](Team&) { throw std::runtime_error("no lead"); }));
}

}  // namespace
}  // namespace mpm

// The progress of a long measurement, on a clock that the test moves.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/common/terminal.hpp"

namespace mpm::cli {
namespace {

using namespace std::chrono_literals;

TEST(Progress, IsALineAMinuteInAFileOrAPipe) {
    std::ostringstream out;
    Progress::Clock::time_point now{};
    {
        Progress progress("image", 100, out, false, [&now] { return now; });
        for (int done = 1; done <= 10; ++done) {
            now += 13s;
            progress.set(done, 100);
        }
    }
    EXPECT_EQ(out.str(), "image 5 of 100, 0.1/s, 20:35 left\nimage 10 of 100, 0.1/s, 19:30 left\n");
}

TEST(Progress, IsRewrittenOnATerminal) {
    std::ostringstream out;
    Progress::Clock::time_point now{};
    {
        Progress progress("frame", -1, out, true, [&now] { return now; });
        for (int i = 0; i < 5; ++i) {
            now += 60ms;
            progress.add();
        }
    }
    EXPECT_EQ(out.str(),
              "\rframe 1 ...\033[K\rframe 2, 16.7/s, 0:00\033[K\rframe 4, 16.7/s, 0:00\033[K\r\033[K");
}

}  // namespace
}  // namespace mpm::cli

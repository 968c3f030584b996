// Time limits for tests that wait.
#pragma once

#include <algorithm>
#include <fstream>

#include <sched.h>

#include <QTest>

namespace mpm::gui::test {

/// Estimates how many running programs share each core that this program may use.
inline double sharers() {
    std::ifstream file("/proc/loadavg");  // load means of 1, 5 and 15 minutes, running/all threads
    double minute = 0, unused = 0, running = 0;
    if (!(file >> minute >> unused >> unused >> running)) return 1;
    cpu_set_t cores;
    const int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
    return std::clamp(std::max(minute, running) / count, 1.0, 6.0);
}

/// Returns a time limit: `milliseconds` on an idle machine, more if other programs run or if a sanitizer
/// checks memory accesses.
inline int patience(int milliseconds) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    milliseconds *= 6;
#endif
    return static_cast<int>(milliseconds * sharers());
}

}  // namespace mpm::gui::test

#undef QTRY_VERIFY
#define QTRY_VERIFY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, mpm::gui::test::patience(5'000))
#undef QTRY_COMPARE
#define QTRY_COMPARE(actual, expected) \
    QTRY_COMPARE_WITH_TIMEOUT(actual, expected, mpm::gui::test::patience(5'000))

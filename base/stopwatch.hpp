// Elapsed time, measured by a clock that is never adjusted.
#pragma once

#include <chrono>

namespace mpm {

class Stopwatch {
public:
    double milliseconds() const { return elapsed<std::milli>(); }
    double seconds() const { return elapsed<std::ratio<1>>(); }
    void restart() { m_start = Clock::now(); }

private:
    using Clock = std::chrono::steady_clock;

    template <typename Unit>
    double elapsed() const {
        return std::chrono::duration<double, Unit>(Clock::now() - m_start).count();
    }

    Clock::time_point m_start = Clock::now();
};

}  // namespace mpm

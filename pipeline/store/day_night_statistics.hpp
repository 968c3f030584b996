// Means and standard deviations by day and by night, and the difference between day and night.
#pragma once

#include <cmath>
#include <cstdint>

#include "pipeline/store/store.hpp"

namespace mpm::pipeline {

/// Mean and standard deviation of a series, by Welford's method, because a sum of squares would lose
/// precision after weeks.
class RunningMean {
public:
    void add(double value) {
        const double delta = value - m_mean;
        m_mean += delta / static_cast<double>(++m_count);
        m_squares += delta * (value - m_mean);
    }
    std::int64_t count() const { return m_count; }
    double mean() const { return m_mean; }
    double deviation() const { return m_count > 1 ? std::sqrt(m_squares / double(m_count - 1)) : 0; }

private:
    std::int64_t m_count = 0;
    double m_mean = 0, m_squares = 0;
};

struct PhaseStatistics {
    RunningMean kept, merged;  ///< numbers of tokens; with reuse: of computed and of reused tokens
    RunningMean luminance, latency;
};

class DayNightStatistics {
public:
    void add(const Measurement& measurement);

    const PhaseStatistics& day() const { return m_day; }
    const PhaseStatistics& night() const { return m_night; }
    int flips() const { return m_flips; }
    bool complete() const { return m_day.kept.count() > 0 && m_night.kept.count() > 0; }

    struct Difference {
        double percent = 0, spread = 0;  ///< spread: standard deviation of (night frame - day frame)
    };
    /// Returns night minus day, in percent of the day's mean.
    Difference difference(RunningMean PhaseStatistics::*of) const;

private:
    PhaseStatistics m_day, m_night;
    bool m_any = false;
    Phase m_last = Phase::Day;
    int m_flips = 0;
};

}  // namespace mpm::pipeline

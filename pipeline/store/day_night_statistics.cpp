#include "pipeline/store/day_night_statistics.hpp"

namespace mpm::pipeline {

void DayNightStatistics::add(const Measurement& m) {
    if (m_any && m.phase != m_last) ++m_flips;
    m_any = true;
    m_last = m.phase;
    PhaseStatistics& phase = m.phase == Phase::Day ? m_day : m_night;
    phase.kept.add(m.tokensComputed());
    phase.merged.add(m.tokensIn - m.tokensComputed());
    phase.luminance.add(m.luminance);
    phase.latency.add(m.networkMs);
}

DayNightStatistics::Difference DayNightStatistics::difference(RunningMean PhaseStatistics::*of) const {
    const RunningMean& day = m_day.*of;
    const RunningMean& night = m_night.*of;
    if (!complete() || day.mean() == 0) return {};
    const double scale = 100 / std::abs(day.mean());
    return {(night.mean() - day.mean()) * scale, std::hypot(day.deviation(), night.deviation()) * scale};
}

}  // namespace mpm::pipeline

#include "gui/models/hour_map.hpp"

#include <algorithm>
#include <cmath>

#include <QDateTime>

#include "base/statistics.hpp"

namespace mpm::gui {

namespace {

double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

}  // namespace

HourMap::HourMap(const TimelineData& data, const Of& of) {
    constexpr std::int64_t kHour = 3'600'000;
    constexpr int kSlice = 31 * 24;  // hours read together
    if (data.empty()) return;
    for (std::int64_t from = data.first() / kHour * kHour; from < data.last(); from += kSlice * kHour) {
        const auto columns = data.columns(from, from + kSlice * kHour, kSlice);
        for (int hour = 0; hour < kSlice; ++hour)
            add(from + hour * kHour, of(columns[static_cast<std::size_t>(hour)]));
    }
    compare();
}

void HourMap::add(std::int64_t milliseconds, const Span& hour) {
    if (!hour.any()) return;
    const QDateTime time = QDateTime::fromMSecsSinceEpoch(milliseconds);
    if (m_days.empty()) m_first = time.date();
    const qint64 day = m_first.daysTo(time.date());
    if (day < 0 || day > 5'000) return;  // ignores the hour: the clock jumped by years
    if (day >= days()) m_days.resize(static_cast<std::size_t>(day) + 1);
    Cell& cell = m_days[static_cast<std::size_t>(day)][static_cast<std::size_t>(time.time().hour())];
    // At the end of summer time, an hour occurs twice and is added to the same cell.
    cell.count += hour.count;
    cell.mean += (hour.mean() - cell.mean) * hour.count / cell.count;
}

/// Compares each hour with the same hour of all days: with the median and the median deviation, which a few
/// unusual days hardly change.
void HourMap::compare() {
    bool any = false;
    for (std::size_t hour = 0; hour < 24; ++hour) {
        std::vector<double> means, distances;
        for (const auto& day : m_days) {
            const Cell& cell = day[hour];
            if (cell.count == 0) continue;
            means.push_back(cell.mean);
            m_least = any ? std::min(m_least, cell.mean) : cell.mean;
            m_most = any ? std::max(m_most, cell.mean) : cell.mean;
            any = true;
        }
        if (static_cast<int>(means.size()) <= kLeastDays) continue;
        const double usual = median(means);
        for (const double mean : means)
            distances.push_back(std::abs(mean - usual));
        // For a normal distribution, 1.4826 times the median deviation is the standard deviation. The spread
        // is at least half a percent of the usual value. Otherwise, in a scene that never changes, a single
        // additional token would be an outlier.
        const double spread = std::max(1.4826 * median(distances), 0.005 * std::abs(usual));
        for (auto& day : m_days) {
            Cell& cell = day[hour];
            if (cell.count == 0) continue;
            cell.usual = usual;
            cell.deviation = spread > 0 ? (cell.mean - usual) / spread : 0;
            cell.outlier = std::abs(cell.deviation) > kOutlier;
        }
    }
}

}  // namespace mpm::gui

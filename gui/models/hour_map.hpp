// Token counts by hour of the day and date, and the distance of each from the usual count of the hour.
#pragma once

#include <QDate>

#include "pipeline/store/store.hpp"

namespace mpm::gui {

class HourMap {
public:
    struct Cell {
        double mean = 0;         ///< tokens kept
        std::int64_t count = 0;  ///< readings; 0: nothing was measured
        double usual = 0;        ///< median of the same hour on other days; 0 if there are too few
        double deviation = 0;    ///< from it, in typical deviations of that hour
        bool outlier = false;
    };
    /// Fewer other days than this make no baseline.
    static constexpr int kLeastDays = 4;
    static constexpr double kOutlier = 3.5;

    /// Buckets of hours, rising in time; local time counts.
    explicit HourMap(const std::vector<pipeline::Bucket>& hours = {});

    bool empty() const { return m_days.empty(); }
    int days() const { return static_cast<int>(m_days.size()); }
    QDate date(int day) const { return m_first.addDays(day); }
    const Cell& at(int day, int hour) const { return m_days[static_cast<std::size_t>(day)][hour]; }
    double least() const { return m_least; }
    double most() const { return m_most; }

private:
    void compare();

    QDate m_first;
    std::vector<std::array<Cell, 24>> m_days;
    double m_least = 0, m_most = 0;
};

}  // namespace mpm::gui

// A map of a quantity by date and hour of the day, with each value's deviation from the usual value at that
// hour.
#pragma once

#include <functional>

#include <QDate>

#include "gui/models/timeline_data.hpp"

namespace mpm::gui {

class HourMap {
public:
    struct Cell {
        double mean = 0;
        double count = 0;             ///< number of readings; 0 if nothing was measured
        std::optional<double> usual;  ///< median of the same hour over all days, if there are enough days
        double deviation = 0;         ///< from `usual`, as a multiple of the typical deviation at that hour
        bool outlier = false;
    };
    /// `Cell::usual` is set only if more than kLeastDays days have readings at the hour.
    static constexpr int kLeastDays = 4;
    static constexpr double kOutlier = 3.5;

    /// A function that returns the quantity of a column.
    using Of = std::function<const Span&(const TimelineColumn&)>;
    HourMap() = default;
    HourMap(const TimelineData& data, const Of& of);

    bool empty() const { return m_days.empty(); }
    int days() const { return static_cast<int>(m_days.size()); }
    QDate date(int day) const { return m_first.addDays(day); }
    const Cell& at(int day, int hour) const { return m_days[static_cast<std::size_t>(day)][hour]; }
    double least() const { return m_least; }
    double most() const { return m_most; }

private:
    void add(std::int64_t time, const Span& hour);
    void compare();

    QDate m_first;
    std::vector<std::array<Cell, 24>> m_days;
    double m_least = 0, m_most = 0;
};

}  // namespace mpm::gui

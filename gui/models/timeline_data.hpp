// The measurements of the timeline. The view reads columns, so that the time to paint does not depend
// on the number of measurements.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include <QObject>

#include "gui/engine/recorder.hpp"

namespace mpm::gui {

/// The lowest, highest and mean reading in a column.
struct Span {
    double least = 0, most = 0, sum = 0;
    double count = 0;

    void add(double value) { add(value, value, value, 1); }
    void add(double low, double high, double mean, double weight) {
        least = count > 0 ? std::min(least, low) : low;
        most = count > 0 ? std::max(most, high) : high;
        sum += mean * weight;
        count += weight;
    }
    bool any() const { return count > 0; }
    double mean() const { return count > 0 ? sum / count : 0; }
};

struct TimelineColumn {
    static constexpr int kStages = 4;  ///< limit of curves for merges before the last; more would look alike
    // `stages` and `kept` are percentages of the tokens before any merge, so that models can be compared.
    std::array<Span, kStages> stages;  ///< after each merge except the last; only in single readings
    Span kept;                         ///< after the last merge
    std::array<Span, pipeline::kSummed> means;
    double nights = 0;             ///< weight of the readings at night
    std::vector<Span> quantities;  ///< in the order of setQuantities(): shares from 0 to 1, or counts

    const Span& of(pipeline::Summed field) const { return means[static_cast<std::size_t>(field)]; }

    bool any() const { return kept.any(); }
    bool night() const { return any() && nights * 2 > kept.count; }
};

class TimelineData : public QObject {
    Q_OBJECT
public:
    using Time = std::int64_t;  ///< milliseconds since 1970, UTC

    void clear();
    void setHistory(const History& history);
    void add(const pipeline::Measurement& measurement);
    void addEvent(const pipeline::Event& event);

    /// Chooses the quantities of the columns; if a quantity was not measured, its Span in the column is
    /// empty.
    void setQuantities(const std::vector<pipeline::Quantity>& quantities);
    const std::vector<pipeline::Quantity>& quantities() const { return m_quantities; }
    /// Adds stored minutes and single readings of a quantity, in any order.
    void addPast(const pipeline::Quantity& quantity, const std::vector<pipeline::QuantitySpan>& minutes,
                 const std::vector<pipeline::QuantitySpan>& readings = {});

    bool empty() const;
    Time first() const;
    Time last() const;
    /// Returns the number of image tokens of the newest reading.
    int tokensIn() const { return m_tokensIn; }

    /// Returns `count` columns of equal width over [from, to). The columns contain single readings if all
    /// readings of the range are in memory or the columns are very narrow. Otherwise, they contain minutes
    /// or, if the columns are wide, hours.
    std::vector<TimelineColumn> columns(Time from, Time to, int count) const;
    /// Returns whether columns() with these arguments contains single readings instead of minutes or hours.
    bool readingsShown(Time from, Time to, int count) const;
    std::vector<pipeline::Event> events(Time from, Time to) const;

    /// Largest number of readings in memory. Older readings are shown as means of minutes or hours.
    static constexpr std::size_t kMostReadings = 40'000;

signals:
    void changed();

private:
    struct Reading {
        Time time;
        std::array<float, pipeline::kSummed> values;        // NaN if absent
        std::array<float, TimelineColumn::kStages> stages;  // negative if the stage does not exist
        float kept;
        bool night;
    };
    struct Series {
        std::map<Time, pipeline::QuantitySpan> minutes;
        std::map<Time, float> readings;
    };
    struct Level {
        Time span;
        std::deque<pipeline::Bucket> buckets;
        void add(const pipeline::Measurement& measurement);
        void fill(std::vector<TimelineColumn>& columns, Time from, Time to, int tokensIn) const;
    };
    void keep(const pipeline::Measurement& measurement);
    void fillQuantities(std::vector<TimelineColumn>& columns, Time from, Time to, bool single) const;
    void fillReadings(std::vector<TimelineColumn>& columns, Time from, Time to) const;

    std::deque<Reading> m_readings;
    Level m_minutes{60'000, {}}, m_hours{3'600'000, {}};
    std::deque<pipeline::Event> m_events;
    std::vector<pipeline::Quantity> m_quantities;
    std::map<pipeline::Quantity, Series> m_series;
    int m_tokensIn = 0;
};

}  // namespace mpm::gui

#include "gui/models/timeline_data.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::gui {

namespace {

using Time = TimelineData::Time;

constexpr std::size_t kMostEvents = 10'000;

Time floorTo(Time time, Time span) {
    const Time rest = time % span;
    return time - (rest < 0 ? rest + span : rest);
}

/// Returns the column that contains `time`. `time` may be outside the range.
Time columnOf(Time time, Time from, Time to, int count) {
    return (time - from) * count / std::max<Time>(1, to - from);
}

float percentOf(int tokens, const pipeline::Measurement& m) {
    return m.tokensIn > 0 ? 100.f * float(tokens) / float(m.tokensIn) : 100.f;
}

/// For each field that has means over minutes and hours, passes its index and its value in `m` to `with`.
template <typename With>
void forSummed(const pipeline::Measurement& m, With with) {
    for (const pipeline::ReadingField& field : pipeline::readingFields())
        if (field.summed.field) with(static_cast<std::size_t>(*field.summed.field), field.get(m));
}

/// Inserts `item` in the order of time, which searches need even after the clock jumps back.
template <typename Deque, typename Item>
void insertByTime(Deque& deque, Item item) {
    if (deque.empty() || !(item.time < deque.back().time)) {
        deque.push_back(std::move(item));
        return;
    }
    const auto later = [](const Item& a, const Item& b) { return a.time < b.time; };
    deque.insert(std::upper_bound(deque.begin(), deque.end(), item, later), std::move(item));
}

}  // namespace

void TimelineData::clear() {
    for (auto& [quantity, series] : m_series)
        series = {};
    m_readings.clear();
    m_minutes.buckets.clear();
    m_hours.buckets.clear();
    m_events.clear();
    emit changed();
}

void TimelineData::setHistory(const History& history) {
    m_readings.clear();
    m_minutes.buckets.assign(history.minutes.begin(), history.minutes.end());
    m_hours.buckets.assign(history.hours.begin(), history.hours.end());
    m_events.assign(history.events.begin(), history.events.end());
    for (const pipeline::Measurement& measurement : history.readings)
        keep(measurement);
    emit changed();
}

void TimelineData::keep(const pipeline::Measurement& m) {
    Reading reading{
        m.time.count(), {}, {}, percentOf(m.tokensComputed(), m), m.phase == pipeline::Phase::Night};
    forSummed(m, [&](std::size_t at, const pipeline::ReadingField::Value& value) {
        reading.values[at] = static_cast<float>(value.value_or(NAN));
    });
    for (int stage = 0; stage < TimelineColumn::kStages; ++stage)
        reading.stages[stage] =
            stage + 1 < static_cast<int>(m.stageTokens.size()) ? percentOf(m.stageTokens[stage], m) : -1.f;
    insertByTime(m_readings, reading);
    if (m_readings.size() > kMostReadings) m_readings.pop_front();
    m_tokensIn = m.tokensIn;
}

void TimelineData::setQuantities(const std::vector<pipeline::Quantity>& quantities) {
    m_quantities = quantities;
    std::map<pipeline::Quantity, Series> kept;
    for (const pipeline::Quantity& quantity : quantities)
        kept[quantity] = std::move(m_series[quantity]);
    m_series = std::move(kept);
    emit changed();
}

void TimelineData::addPast(const pipeline::Quantity& quantity,
                           const std::vector<pipeline::QuantitySpan>& minutes,
                           const std::vector<pipeline::QuantitySpan>& readings) {
    const auto found = m_series.find(quantity);
    if (found == m_series.end()) return;  // the quantity was removed meanwhile
    Series& series = found->second;
    for (const pipeline::QuantitySpan& minute : minutes) {
        pipeline::QuantitySpan& known = series.minutes[minute.time.count()];
        if (minute.count > known.count) known = minute;  // more readings may be in memory than in the store
    }
    for (const pipeline::QuantitySpan& reading : readings)
        series.readings.emplace(reading.time.count(), static_cast<float>(reading.mean));
    emit changed();
}

void TimelineData::add(const pipeline::Measurement& measurement) {
    keep(measurement);
    const Time time = measurement.time.count(), begin = floorTo(time, m_minutes.span);
    for (auto& [quantity, series] : m_series) {
        const auto value = pipeline::valueOf(quantity, measurement);
        if (!value) continue;
        series.minutes[begin].add(*value);
        series.readings.emplace(time, static_cast<float>(*value));
        if (series.readings.size() > kMostReadings) series.readings.erase(series.readings.begin());
    }
    m_minutes.add(measurement);
    m_hours.add(measurement);
    emit changed();
}

void TimelineData::addEvent(const pipeline::Event& event) {
    insertByTime(m_events, event);
    if (m_events.size() > kMostEvents) m_events.pop_front();
    emit changed();
}

/// Adds a reading as the store does, so that the history looks the same after a restart.
void TimelineData::Level::add(const pipeline::Measurement& m) {
    const Time begin = floorTo(m.time.count(), span);
    const auto before = [](const pipeline::Bucket& bucket, Time time) { return bucket.time.count() < time; };
    auto at = std::lower_bound(buckets.begin(), buckets.end(), begin, before);
    if (at == buckets.end() || at->time.count() != begin) {
        pipeline::Bucket fresh;
        fresh.time = pipeline::Millis(begin);
        fresh.tokensLeast = fresh.tokensMost = m.tokensComputed();
        at = buckets.insert(at, fresh);
    }
    const double weight = 1.0 / static_cast<double>(++at->count);
    at->nights += m.phase == pipeline::Phase::Night;
    at->tokensMean += (m.tokensComputed() - at->tokensMean) * weight;
    at->tokensLeast = std::min(at->tokensLeast, m.tokensComputed());
    at->tokensMost = std::max(at->tokensMost, m.tokensComputed());
    forSummed(m, [&](std::size_t field, const pipeline::ReadingField::Value& value) {
        if (value) at->means[field].add(*value);
    });
}

/// `tokensIn`: number of image tokens, used for minutes and hours that have no stored number.
void TimelineData::Level::fill(std::vector<TimelineColumn>& columns, Time from, Time to, int tokensIn) const {
    const auto before = [](const pipeline::Bucket& bucket, Time time) { return bucket.time.count() < time; };
    const int count = static_cast<int>(columns.size());
    auto at = std::lower_bound(buckets.begin(), buckets.end(), from - span / 2, before);
    for (; at != buckets.end(); ++at) {
        const Time column = columnOf(at->time.count() + span / 2, from, to, count);
        if (column >= count) return;
        if (column < 0) continue;
        TimelineColumn& target = columns[column];
        const double weight = static_cast<double>(at->count);
        const auto& in = at->of(pipeline::Summed::TokensIn);
        const double percent = 100 / std::max(1.0, in.count > 0 ? in.mean : double(tokensIn));
        target.kept.add(percent * at->tokensLeast, percent * at->tokensMost, percent * at->tokensMean,
                        weight);
        for (std::size_t field = 0; field < pipeline::kSummed; ++field) {
            const auto& [readings, mean] = at->means[field];
            if (readings > 0) target.means[field].add(mean, mean, mean, static_cast<double>(readings));
        }
        target.nights += static_cast<double>(at->nights);
    }
}

void TimelineData::fillReadings(std::vector<TimelineColumn>& columns, Time from, Time to) const {
    const auto before = [](const Reading& reading, Time time) { return reading.time < time; };
    const int count = static_cast<int>(columns.size());
    auto at = std::lower_bound(m_readings.begin(), m_readings.end(), from, before);
    for (; at != m_readings.end() && at->time < to; ++at) {
        TimelineColumn& target = columns[columnOf(at->time, from, to, count)];
        for (int stage = 0; stage < TimelineColumn::kStages; ++stage)
            if (at->stages[stage] >= 0) target.stages[stage].add(at->stages[stage]);
        target.kept.add(at->kept);
        for (std::size_t field = 0; field < pipeline::kSummed; ++field)
            if (!std::isnan(at->values[field])) target.means[field].add(at->values[field]);
        target.nights += at->night;
    }
}

/// If `single`, fills in single readings, and a minute only if no reading of this minute is in memory.
void TimelineData::fillQuantities(std::vector<TimelineColumn>& columns, Time from, Time to,
                                  bool single) const {
    const int count = static_cast<int>(columns.size());
    for (TimelineColumn& column : columns)
        column.quantities.resize(m_quantities.size());
    for (std::size_t i = 0; i < m_quantities.size(); ++i) {
        const auto known = m_series.find(m_quantities[i]);
        if (known == m_series.end()) continue;
        const auto& [minutes, readings] = known->second;
        const auto spanAt = [&, i](Time time) -> Span& {
            return columns[columnOf(time, from, to, count)].quantities[i];
        };
        auto reading = single ? readings.lower_bound(from - m_minutes.span / 2) : readings.end();
        for (auto at = minutes.lower_bound(from - m_minutes.span / 2); at != minutes.end(); ++at) {
            const Time middle = at->first + m_minutes.span / 2;
            if (middle >= to) break;
            while (reading != readings.end() && reading->first < at->first)
                ++reading;
            if (reading == readings.end() || reading->first >= at->first + m_minutes.span)
                spanAt(middle).add(at->second.least, at->second.most, at->second.mean, at->second.count);
        }
        if (!single) continue;
        for (auto at = readings.lower_bound(from); at != readings.end() && at->first < to; ++at)
            spanAt(at->first).add(at->second);
    }
}

bool TimelineData::readingsShown(Time from, Time to, int count) const {
    if (!m_readings.empty() &&
        (m_readings.front().time <= from || m_readings.front().time <= first() + m_minutes.span))
        return true;
    return (to - from) / std::max(1, count) < m_minutes.span / 4;
}

std::vector<TimelineColumn> TimelineData::columns(Time from, Time to, int count) const {
    std::vector<TimelineColumn> columns(std::max(0, count));
    if (count <= 0 || to <= from) return columns;
    const Time width = (to - from) / count;
    const bool single = readingsShown(from, to, count);
    if (!m_quantities.empty()) fillQuantities(columns, from, to, single);
    if (single)
        fillReadings(columns, from, to);
    else if (width < m_hours.span / 2)
        m_minutes.fill(columns, from, to, m_tokensIn);
    else
        m_hours.fill(columns, from, to, m_tokensIn);
    return columns;
}

std::vector<pipeline::Event> TimelineData::events(Time from, Time to) const {
    std::vector<pipeline::Event> found;
    for (const pipeline::Event& event : m_events)
        if (event.time.count() >= from && event.time.count() < to) found.push_back(event);
    return found;
}

bool TimelineData::empty() const {
    return m_readings.empty() && m_minutes.buckets.empty() && m_hours.buckets.empty();
}

Time TimelineData::first() const {
    // A stored hour or minute often begins before its first reading. So a minute counts only if it ends
    // before the first reading in memory, and an hour only if it ends before the first minute and reading.
    Time first = m_readings.empty() ? INT64_MAX : m_readings.front().time;
    for (const Level* level : {&m_minutes, &m_hours})
        if (!level->buckets.empty() && level->buckets.front().time.count() + level->span <= first)
            first = level->buckets.front().time.count();
    return empty() ? 0 : first;
}

Time TimelineData::last() const {
    if (!m_readings.empty()) return m_readings.back().time;
    if (!m_minutes.buckets.empty()) return m_minutes.buckets.back().time.count() + m_minutes.span;
    return m_hours.buckets.empty() ? 0 : m_hours.buckets.back().time.count() + m_hours.span;
}

}  // namespace mpm::gui

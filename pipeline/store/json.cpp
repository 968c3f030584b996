// Exports as JSON. Reads an hour of readings at a time, because a month of readings may not fit into memory.
#include <nlohmann/json.hpp>

#include "pipeline/store/day_night_statistics.hpp"

namespace mpm::pipeline {

namespace {

using Json = nlohmann::ordered_json;

constexpr Millis kSlice = std::chrono::hours(1);

/// Adds `value` to an earlier value of this name, because several classes can have the same name.
template <class Number>
void add(Json& json, const std::string& name, Number value) {
    json[name] = json.value(name, Number()) + value;
}

Json sharesOf(const std::vector<double>& shares, const std::vector<std::string>& classes) {
    Json json = Json::object();
    for (std::size_t id = 0; id < shares.size(); ++id)
        add(json, storedName(static_cast<int>(id), classes), shares[id]);
    return json;
}

Json countsOf(const std::map<int, int>& counts, const std::vector<std::string>& classes) {
    Json json = Json::object();
    for (const auto& [id, count] : counts)
        add(json, storedName(id, classes), count);
    return json;
}

Json numberOf(const ReadingField& field, double value) {
    return field.whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json jsonOf(const Measurement& m, const std::vector<std::string>& classes) {
    Json json = {
        {"time", timeText(m.time)}, {"frame", m.frame}, {"phase", m.phase == Phase::Night ? "night" : "day"}};
    Json sometimes = {{"shares", sharesOf(m.classShares, classes)}};
    for (const ReadingField& field : readingFields()) {
        const auto value = field.get(m);
        if (!field.json || !value) continue;
        (field.when == ReadingField::When::Always ? json : sometimes)[field.name] = numberOf(field, *value);
        if (field.name == std::string("tokens_in")) json["tokens_stages"] = m.stageTokens;
    }
    if (m.objects) sometimes["object_counts"] = countsOf(m.objectCounts, classes);
    json.update(sometimes);
    for (const RegionReading& region : m.regions) {
        Json& one = json["regions"][region.name] = {{"patches", region.patches},
                                                    {"tokens", region.tokens},
                                                    {"shares", sharesOf(region.classShares, classes)}};
        if (m.objects) one["object_counts"] = countsOf(region.objects, classes);
    }
    return json;
}

Json jsonOf(const RunningMean& values) {
    return {{"readings", values.count()}, {"tokens_kept", values.mean()}, {"deviation", values.deviation()}};
}

/// Returns the statistics as JSON, with the difference if there are readings of both day and night.
Json jsonOf(const DayNightStatistics& statistics) {
    Json json = {{"day", jsonOf(statistics.day().kept)},
                 {"night", jsonOf(statistics.night().kept)},
                 {"flips", statistics.flips()}};
    if (!statistics.complete()) return json;
    const auto difference = statistics.difference(&PhaseStatistics::kept);
    json["difference_percent"] = difference.percent;
    json["spread_percent"] = difference.spread;
    return json;
}

/// Returns JSON as text. Replaces bytes that are not UTF-8 (from labels or file names), because an exception
/// would leave half a file.
std::string text(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::int64_t Store::exportJson(std::ostream& out, std::int64_t source, Millis from, Millis to,
                               const std::vector<std::string>& classes) const {
    std::int64_t written = 0;
    DayNightStatistics statistics;
    out << "{\"schema\": 1, \"readings\": [";
    // Skips time without readings, because a wrong clock may have left a reading in the year 1.
    for (auto at = firstReading(source, from, to); at; at = firstReading(source, *at + kSlice, to)) {
        for (const Measurement& measurement : measurements(source, *at, std::min(*at + kSlice, to))) {
            statistics.add(measurement);
            out << (written++ > 0 ? ",\n" : "\n") << text(jsonOf(measurement, classes));
        }
    }
    out << "\n], \"events\": [";
    const char* comma = "\n";
    for (const Event& event : events(source, from, to)) {
        out << std::exchange(comma, ",\n")
            << text({{"time", timeText(event.time)}, {"kind", event.kind}, {"text", event.text}});
    }
    out << "\n], \"day_night\": " << text(jsonOf(statistics)) << "}\n";
    if (!out.flush())
        throw StoreError(StoreError::Kind::DiskFull, "the JSON could not be written: is the disk full?");
    return written;
}

}  // namespace mpm::pipeline

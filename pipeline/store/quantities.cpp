// Reads quantities of classes and regions, from a reading or from the store.
#include <array>

#include "pipeline/store/database.hpp"

namespace mpm::pipeline {

namespace {

using Value = std::optional<double>;

/// How to read a kind of quantity from a reading (`get`) and from the store (`column`). If a string in the
/// store is not JSON or an entry is not a number, the value is absent.
struct Kind {
    Value (*get)(const Quantity& quantity, const Measurement& m);
    const char* column;  ///< SQL expression; ?1: the JSON path in a list or in counts
    bool region, ofModel, counts = false;
};

Value shareOf(int classId, const std::vector<double>& shares) {
    const auto id = static_cast<std::size_t>(classId);
    return classId >= 0 && id < shares.size() ? Value(shares[id]) : std::nullopt;
}

Value classShare(const Quantity& quantity, const Measurement& m) {
    return shareOf(quantity.classId, m.classShares);
}

Value regionTokens(const Quantity& quantity, const Measurement& m) {
    const RegionReading* found = readingOf(m.regions, quantity.region);
    return found && found->patches > 0 ? Value(double(found->tokens) / found->patches) : std::nullopt;
}

Value regionShare(const Quantity& quantity, const Measurement& m) {
    const RegionReading* found = readingOf(m.regions, quantity.region);
    return found ? shareOf(quantity.classId, found->classShares) : std::nullopt;
}

Value countIn(const std::map<int, int>& counts, int classId) {
    const auto found = counts.find(classId);
    return found != counts.end() ? Value(found->second) : std::nullopt;
}

Value classObjects(const Quantity& quantity, const Measurement& m) {
    return countIn(m.objectCounts, quantity.classId);
}

Value regionObjects(const Quantity& quantity, const Measurement& m) {
    const RegionReading* found = readingOf(m.regions, quantity.region);
    return found ? countIn(found->objects, quantity.classId) : std::nullopt;
}

constexpr std::array kKinds = {
    Kind{classShare,
         "CASE WHEN json_valid(reading.class_shares) THEN json_extract(reading.class_shares, ?1) END", false,
         true},
    Kind{regionTokens, "tokens * 1.0 / nullif(patches, 0)", true, false},
    Kind{regionShare,
         "CASE WHEN json_valid(region_reading.class_shares) THEN json_extract(region_reading.class_shares, "
         "?1) END",
         true, true},
    Kind{classObjects,
         "CASE WHEN json_valid(reading.object_counts) THEN json_extract(reading.object_counts, ?1) END",
         false, true, true},
    Kind{regionObjects,
         "CASE WHEN json_valid(region_reading.object_counts) THEN json_extract(region_reading.object_counts, "
         "?1) END",
         true, true, true}};

const Kind& kindOf(const Quantity& quantity) {
    return kKinds.at(static_cast<std::size_t>(quantity.kind));
}

}  // namespace

Value valueOf(const Quantity& quantity, const Measurement& measurement) {
    return kindOf(quantity).get(quantity, measurement);
}

std::vector<QuantitySpan> Store::quantity(std::int64_t source, const std::string& model,
                                          const Quantity& quantity, Millis from, Millis to,
                                          Millis step) const {
    const Kind& kind = kindOf(quantity);
    const std::string column = kind.column;
    std::string sql = "SELECT time / ?6 AS step, count(*), avg(v), min(v), max(v) FROM (SELECT time, " +
                      column + " AS v FROM reading";
    if (kind.region)
        sql +=
            " CROSS JOIN region_reading ON region_reading.reading = reading.id AND region_reading.region ="
            " (SELECT id FROM region WHERE source = ?2 AND name = ?7)";
    sql += " WHERE source = ?2 AND time >= ?3 AND time < ?4";
    if (kind.ofModel) sql += " AND setup IN (SELECT id FROM setup WHERE model = ?5)";
    sql += ") WHERE typeof(v) IN ('real', 'integer') GROUP BY step ORDER BY step";
    const std::string id = std::to_string(quantity.classId);
    Statement rows = m_database->prepare(sql, kind.counts ? "$.\"" + id + "\"" : "$[" + id + "]", source,
                                         from, to, model, step);
    if (kind.region) rows.set(7, quantity.region);
    std::vector<QuantitySpan> found;
    while (rows.step())
        found.push_back({rows.integer(0) * step, static_cast<double>(rows.integer(1)), rows.real(2),
                         rows.real(3), rows.real(4)});
    return found;
}

}  // namespace mpm::pipeline

// Stores and finds setups, and collects the readings of a setup for a comparison of day and night.
#include "pipeline/store/database.hpp"
#include "pipeline/store/day_night_statistics.hpp"
#include "pipeline/store/number_list.hpp"

namespace mpm::pipeline {

std::optional<std::int64_t> Store::findSetup(const Setup& setup) const {
    Statement find =
        m_database->prepare("SELECT id FROM setup WHERE model = ? AND method = ? AND schedule = ?",
                            setup.model, setup.method, listText(setup.schedule));
    return find.step() ? std::optional(find.integer(0)) : std::nullopt;
}

std::int64_t Store::setupId(const Setup& setup) {
    if (const auto known = findSetup(setup)) return *known;
    m_database->run("INSERT INTO setup(model, method, schedule) VALUES(?,?,?)", setup.model, setup.method,
                    listText(setup.schedule));
    return m_database->lastId();
}

void Store::addTo(DayNightStatistics& statistics, std::int64_t source, const Setup& setup, Millis from,
                  Millis to) const {
    const auto id = findSetup(setup);
    if (!id) return;
    Statement rows = m_database->prepare(
        "SELECT night, tokens_in, stage_tokens, luminance, network_ms, recomputed FROM reading "
        "WHERE source = ? AND time >= ? AND time < ? AND setup = ? AND pass = 0 ORDER BY time, id",
        source, from, to, *id);
    while (rows.step()) {
        Measurement m;
        m.phase = rows.integer(0) != 0 ? Phase::Night : Phase::Day;
        m.tokensIn = rows.small(1);
        m.stageTokens = parseList<int>(rows.text(2));
        m.luminance = rows.real(3);
        m.networkMs = rows.real(4);
        if (!rows.isNull(5)) m.recomputed = rows.real(5);
        statistics.add(m);
    }
}

std::optional<std::pair<Millis, Millis>> Store::readingsIn(std::int64_t source, Millis from,
                                                           Millis to) const {
    Statement rows = m_database->prepare(
        "SELECT min(time), max(time) FROM reading WHERE source = ? AND time >= ? AND time < ?", source, from,
        to);
    rows.step();
    if (rows.isNull(0)) return std::nullopt;
    return std::pair(Millis(rows.integer(0)), Millis(rows.integer(1)));
}

}  // namespace mpm::pipeline

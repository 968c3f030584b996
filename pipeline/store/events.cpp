#include "pipeline/store/database.hpp"

namespace mpm::pipeline {

void Store::addEvent(std::int64_t source, const Event& event) {
    m_database->run("INSERT INTO event(source, time, kind, text) VALUES(?,?,?,?)", source, event.time,
                    event.kind, event.text);
}

std::vector<Event> Store::events(std::int64_t source, Millis from, Millis to) const {
    Statement rows = m_database->prepare(
        "SELECT time, kind, text FROM event WHERE source = ? AND time >= ? AND time < ? ORDER BY time, id",
        source, from, to);
    std::vector<Event> found;
    while (rows.step())
        found.push_back({Millis(rows.integer(0)), rows.text(1), rows.text(2)});
    return found;
}

std::vector<StoredEvent> Store::newestEvents(std::int64_t limit) const {
    Statement rows = m_database->prepare(
        "SELECT event.id, name, time, kind, text FROM event JOIN source ON source.id = event.source "
        "ORDER BY time DESC, event.id DESC LIMIT ?",
        limit);
    std::vector<StoredEvent> found;
    while (rows.step())
        found.push_back(
            {rows.integer(0), rows.text(1), {Millis(rows.integer(2)), rows.text(3), rows.text(4)}});
    return found;
}

void Store::removeEvents(const std::vector<std::int64_t>& ids) {
    Database::Transaction transaction(*m_database);
    Statement remove = m_database->prepare("DELETE FROM event WHERE id = ?");
    for (const std::int64_t id : ids)
        remove.run(id);
    transaction.commit();
}

}  // namespace mpm::pipeline

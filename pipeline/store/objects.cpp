// Objects in the store: the objects now in view, and the classes that were counted in a time span.
#include <algorithm>
#include <set>

#include "pipeline/store/database.hpp"
#include "pipeline/store/number_list.hpp"

namespace mpm::pipeline {

void Store::setObjects(std::int64_t source, const KnownObjects& objects) {
    Database::Transaction transaction(*m_database);
    m_database->run("UPDATE source SET next_object = max(coalesce(next_object, 1), ?) WHERE id = ?",
                    objects.nextId, source);
    m_database->run("DELETE FROM object WHERE source = ?", source);
    Statement insert = m_database->prepare("INSERT INTO object VALUES(?,?,?,?,?,?,?,?,?,?)");
    for (const KnownObject& one : objects.present)
        insert.run(source, one.id, one.label, one.place.x, one.place.y, one.place.width, one.place.height,
                   one.since, one.last, one.still);
    transaction.commit();
}

KnownObjects Store::objects(std::int64_t source) const {
    KnownObjects found;
    Statement next = m_database->prepare("SELECT next_object FROM source WHERE id = ?", source);
    if (next.step()) found.nextId = std::max<std::int64_t>(1, next.integer(0));
    Statement rows = m_database->prepare(
        "SELECT id, class, x, y, width, height, since, last, stays FROM object WHERE source = ? ORDER BY id",
        source);
    while (rows.step()) {
        found.present.push_back({rows.integer(0),
                                 rows.text(1),
                                 {rows.real(2), rows.real(3), rows.real(4), rows.real(5)},
                                 Millis(rows.integer(6)),
                                 Millis(rows.integer(7)),
                                 Millis(rows.integer(8))});
    }
    return found;
}

std::vector<int> Store::countedClasses(std::int64_t source, Millis from, Millis to) const {
    Statement rows = m_database->prepare(
        "SELECT DISTINCT object_counts FROM reading WHERE source = ? AND time >= ? AND time < ?", source,
        from, to);
    std::set<int> ids;
    while (rows.step() && ids.size() < 1000)  // limited, because a CSV has a column for each id
        for (const auto& [id, count] : parseCounts(rows.text(0)))
            ids.insert(id);
    return {ids.begin(), ids.end()};
}

}  // namespace mpm::pipeline

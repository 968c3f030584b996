// The share of a class, minute by minute.
#include "pipeline/store/database.hpp"

namespace mpm::pipeline {

std::vector<ShareMinute> Store::shareByMinute(std::int64_t source, const std::string& model, int classId,
                                              Millis from, Millis to) const {
    // A list that is no JSON, or holds anything but numbers, has no share.
    Statement rows = m_database->prepare(
        "SELECT time / 60000 AS minute, count(*), avg(share), min(share), max(share) FROM ("
        "  SELECT time, CASE WHEN json_valid(class_shares) THEN json_extract(class_shares, ?) END AS share"
        "  FROM reading WHERE source = ? AND time >= ? AND time < ?"
        "  AND setup IN (SELECT id FROM setup WHERE model = ?)) "
        "WHERE typeof(share) IN ('real', 'integer') GROUP BY minute ORDER BY minute");
    rows.bind(1, "$[" + std::to_string(classId) + "]")
        .bind(2, source)
        .bind(3, std::int64_t{from.count()})
        .bind(4, std::int64_t{to.count()})
        .bind(5, model);
    std::vector<ShareMinute> found;
    while (rows.step())
        found.push_back({Millis(rows.integer(0) * 60'000), static_cast<double>(rows.integer(1)), rows.real(2),
                         rows.real(3), rows.real(4)});
    return found;
}

}  // namespace mpm::pipeline

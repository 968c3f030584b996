// The tables: how they are created, migrated and distinguished from other contents of an SQLite file.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "base/printable.hpp"
#include "pipeline/store/database.hpp"

namespace mpm::pipeline {

namespace {

// Times are milliseconds since 1970 UTC. `minute` and `hour` are kept beside the readings, in the same
// transaction, so that weeks are drawn from a few thousand rows and outlive the readings themselves.
const char* const kSchemaSql = R"sql(
CREATE TABLE source (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
CREATE TABLE reading (
  id INTEGER PRIMARY KEY,
  source INTEGER NOT NULL REFERENCES source(id),
  time INTEGER NOT NULL,
  frame INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL,
  stage_tokens TEXT NOT NULL,
  luminance REAL NOT NULL,
  night INTEGER NOT NULL,
  capture_ms REAL NOT NULL,
  network_ms REAL NOT NULL,
  encoder_ms REAL NOT NULL,
  merge_ms REAL NOT NULL,
  draw_ms REAL NOT NULL,
  dropped INTEGER NOT NULL,
  class_shares TEXT NOT NULL
);
CREATE INDEX reading_by_time ON reading(source, time);
CREATE TABLE bucket (
  source INTEGER NOT NULL REFERENCES source(id),
  span INTEGER NOT NULL,
  time INTEGER NOT NULL,
  count INTEGER NOT NULL,
  nights INTEGER NOT NULL,
  tokens_sum REAL NOT NULL,
  tokens_squares REAL NOT NULL,
  tokens_least INTEGER NOT NULL,
  tokens_most INTEGER NOT NULL,
  night_tokens_sum REAL NOT NULL,
  luminance_sum REAL NOT NULL,
  latency_sum REAL NOT NULL,
  PRIMARY KEY (source, span, time)
) WITHOUT ROWID;
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  source INTEGER NOT NULL REFERENCES source(id),
  time INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX event_by_time ON event(source, time);
)sql";

// Schema 2: the measurements of each region, beside their reading.
const char* const kRegionsSql = R"sql(
CREATE TABLE region (
  id INTEGER PRIMARY KEY,
  source INTEGER NOT NULL REFERENCES source(id),
  name TEXT NOT NULL,
  UNIQUE (source, name)
);
CREATE TABLE region_reading (
  reading INTEGER NOT NULL REFERENCES reading(id) ON DELETE CASCADE,
  region INTEGER NOT NULL REFERENCES region(id),
  patches INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  class_shares TEXT NOT NULL,
  PRIMARY KEY (reading, region)
) WITHOUT ROWID;
PRAGMA user_version = 2;
)sql";

// Schema 3: model, method and schedule of each reading, the pass of a video that repeats, and the share of
// tokens computed with reuse.
const char* const kSetupSql = R"sql(
CREATE TABLE setup (
  id INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  method TEXT NOT NULL,
  schedule TEXT NOT NULL,
  UNIQUE (model, method, schedule)
);
ALTER TABLE reading ADD COLUMN setup INTEGER;
ALTER TABLE reading ADD COLUMN pass INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reading ADD COLUMN recomputed REAL;
PRAGMA user_version = 3;
)sql";

// Schema 4: with reuse the mean age of the tokens; the time saved against all tokens, where it was measured.
const char* const kReuseSql = R"sql(
ALTER TABLE reading ADD COLUMN token_age REAL;
ALTER TABLE reading ADD COLUMN saved_ms REAL;
PRAGMA user_version = 4;
)sql";

/// The columns of schemas 3 and 4, as SQLite appends them to the statement of the readings' table.
constexpr const char* kAppended[] = {",setupinteger,passintegernotnulldefault0,recomputedreal",
                                     ",token_agereal,saved_msreal"};

constexpr std::int64_t kApplication = 0x4d504d73;  // "MPMs"; files of earlier versions have 0

/// Blanks and letter case do not count.
std::string bare(const std::string& sql) {
    std::string result;
    for (const char c : sql)
        if (std::isspace(static_cast<unsigned char>(c)) == 0)
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// Every statement that makes a table or an index of ours, in the present schema.
const std::vector<std::string>& ourStatements() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> found;
        const std::string text = std::string(kSchemaSql) + kRegionsSql + kSetupSql;
        for (std::size_t from = 0, end; (end = text.find(';', from)) != std::string::npos; from = end + 1) {
            const std::string statement = bare(text.substr(from, end - from));
            if (statement.rfind("create", 0) == 0) found.push_back(statement);
            if (statement.rfind("createtablereading(", 0) == 0)
                found.back().replace(statement.size() - 1, 1, std::string(kAppended[0]) + kAppended[1] + ")");
        }
        return found;
    }();
    return all;
}

/// The table of readings before schema 3, or before schema 4.
bool isOldReading(const std::string& sql) {
    const std::vector<std::string>& ours = ourStatements();
    const auto now = std::find_if(ours.begin(), ours.end(), [](const std::string& statement) {
        return statement.rfind("createtablereading(", 0) == 0;
    });
    std::string older = now->substr(0, now->size() - 1);
    for (const char* appended : {kAppended[1], kAppended[0]}) {
        older.resize(older.size() - std::string(appended).size());
        if (older + ")" == sql) return true;
    }
    return false;
}

/// Created by SQLite itself: for keys, and by ANALYZE.
bool isSqlites(const std::string& type, const std::string& sql) {
    return (type == "index" && sql.empty()) || sql == "createtablesqlite_stat1(tbl,idx,stat)" ||
           sql == "createtablesqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)";
}

}  // namespace

std::int64_t Store::Database::number(const char* pragma) const {
    Statement read = prepare(pragma);
    read.step();
    return read.integer(0);
}

/// Before anything is written: the file may belong to another program.
void Store::Database::recognise() const {
    const std::int64_t mark = number("PRAGMA application_id"), version = number("PRAGMA user_version");
    if (mark != 0 && mark != kApplication)
        throwDamaged(m_path, "another program's file, by its application_id");
    if (version > Store::kSchema)
        throw StoreError(StoreError::Kind::NewerSchema, m_path + ": written by a newer version (schema " +
                                                            std::to_string(version) +
                                                            "); update this program, or name another file");
    checkSchema(version == Store::kSchema);
}

void Store::Database::migrate() {
    const std::int64_t before = number("PRAGMA user_version");
    if (before == Store::kSchema) return;
    if (before > 0) backUp(m_path + ".v" + std::to_string(before));
    Transaction transaction(*this);
    recognise();  // another program may have been quicker
    const std::int64_t found = number("PRAGMA user_version");
    if (found < 1) execute(kSchemaSql);
    if (found < 2) execute(kRegionsSql);
    if (found < 3) execute(kSetupSql);
    if (found < 4) execute(kReuseSql);
    if (found < 1) execute(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
    checkSchema(true);
    transaction.commit();
}

/// Triggers, views, generated columns and indexes on expressions are code; tables of others are not ours to
/// write beside.
void Store::Database::checkSchema(bool complete) const {
    Statement rows = prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema");
    const std::vector<std::string>& ours = ourStatements();
    std::size_t known = 0;
    while (rows.step()) {
        const std::string sql = bare(rows.text(2));
        const bool our = std::find(ours.begin(), ours.end(), sql) != ours.end();
        const bool older = !complete && isOldReading(sql);
        if (!our && !older && !isSqlites(rows.text(0), sql))
            throwDamaged(m_path, "it holds the " + rows.text(0) + " '" + printable(rows.text(1), 60) +
                                     "', which is none of this program's");
        known += our ? 1 : 0;
    }
    if (complete && known != ours.size()) throwDamaged(m_path, "tables are missing");
}

}  // namespace mpm::pipeline

// The tables of the store: creates and migrates them, and rejects an SQLite file with other contents.
#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "base/printable.hpp"
#include "pipeline/store/database.hpp"

namespace mpm::pipeline {

namespace {

// Times are milliseconds since 1970 UTC. The transaction that adds readings also updates the buckets (minutes
// and hours), so that charts of weeks read few rows. Buckets remain after readings are deleted.
constexpr const char* kSchemaSql = R"sql(
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
  class_shares TEXT NOT NULL,
  setup INTEGER,
  pass INTEGER NOT NULL DEFAULT 0,
  recomputed REAL,
  token_age REAL,
  saved_ms REAL
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
  ages INTEGER NOT NULL DEFAULT 0,
  age_sum REAL NOT NULL DEFAULT 0,
  saves INTEGER NOT NULL DEFAULT 0,
  saved_sum REAL NOT NULL DEFAULT 0,
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
CREATE TABLE setup (
  id INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  method TEXT NOT NULL,
  schedule TEXT NOT NULL,
  UNIQUE (model, method, schedule)
);
)sql";

/// SQL that changes the previous schema to schema `to`. The first release has schema 5; earlier schemas were
/// not released.
struct Migration {
    std::int64_t to;
    const char* sql;
};
constexpr Migration kMigrations[] = {
    {Store::kFirstSchema, kSchemaSql},
    {6,
     "ALTER TABLE bucket ADD COLUMN tokens_in_sum REAL NOT NULL DEFAULT 0;"
     "ALTER TABLE bucket ADD COLUMN tokens_in_count INTEGER NOT NULL DEFAULT 0;"},
    {7,
     "ALTER TABLE reading ADD COLUMN objects INTEGER;"
     "ALTER TABLE reading ADD COLUMN object_counts TEXT NOT NULL DEFAULT '{}';"
     "ALTER TABLE region_reading ADD COLUMN object_counts TEXT NOT NULL DEFAULT '{}';"
     "ALTER TABLE bucket ADD COLUMN objects_sum REAL NOT NULL DEFAULT 0;"
     "ALTER TABLE bucket ADD COLUMN objects_count INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE source ADD COLUMN next_object INTEGER NOT NULL DEFAULT 1;"
     "CREATE TABLE object (source INTEGER NOT NULL REFERENCES source(id), id INTEGER NOT NULL, class TEXT "
     "NOT "
     "NULL, x REAL NOT NULL, y REAL NOT NULL, width REAL NOT NULL, height REAL NOT NULL, since INTEGER NOT "
     "NULL, last INTEGER NOT NULL, stays INTEGER NOT NULL, PRIMARY KEY (source, id)) WITHOUT ROWID;"}};

constexpr std::int64_t kApplication = 0x4d504d73;  // "MPMs"

/// Returns SQL without blanks and in lower case, for comparisons.
std::string bare(const std::string& sql) {
    std::string result;
    for (const char c : sql)
        if (std::isspace(static_cast<unsigned char>(c)) == 0)
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// Returns the SQL of the store's tables and indexes in schema `version`. Runs the migrations in memory
/// to get the SQL, because SQLite rewrites a table's SQL if a migration adds a column.
std::vector<std::string> ourStatements(std::int64_t version) {
    sqlite3* raw = nullptr;
    sqlite3_open(":memory:", &raw);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> memory(raw, sqlite3_close);
    for (const Migration& migration : kMigrations)
        if (migration.to <= version) sqlite3_exec(raw, migration.sql, nullptr, nullptr, nullptr);
    std::vector<std::string> found;
    Statement rows(raw, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", ":memory:");
    while (rows.step())
        found.push_back(bare(rows.text(0)));
    return found;
}

/// Returns whether SQLite itself created this table or index, for a key or by ANALYZE.
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

/// Rejects a file that is not a store, before anything is written: it may belong to another program.
void Store::Database::recognise() const {
    const std::int64_t mark = number("PRAGMA application_id"), version = number("PRAGMA user_version");
    if (mark != 0 && mark != kApplication)
        throwDamaged(m_path, "another program's file, by its application_id");
    const std::string schema = " (schema " + std::to_string(version) + ")";
    if (version > kSchema)
        throw StoreError(StoreError::Kind::NewerSchema, m_path + ": written by a newer version" + schema +
                                                            "; update this program, or name another file");
    if (mark == kApplication && version > 0 && version < kFirstSchema)
        throw StoreError(StoreError::Kind::OlderSchema,
                         m_path + ": written by a version before the first release" + schema);
    checkSchema(version);
}

void Store::Database::migrate() {
    const std::int64_t before = number("PRAGMA user_version");
    if (before == kSchema) return;
    if (before > 0) backUp(m_path + ".v" + std::to_string(before));
    Transaction transaction(*this);
    recognise();  // again, because another program may have migrated the file
    const std::int64_t found = number("PRAGMA user_version");
    for (const Migration& migration : kMigrations)
        if (found < migration.to) execute(migration.sql);
    execute(("PRAGMA user_version = " + std::to_string(kSchema)).c_str());
    execute(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
    checkSchema(kSchema);
    transaction.commit();
}

/// Rejects a file with SQL other than the store's. Triggers, views, generated columns and indexes on
/// expressions are code, and other tables belong to another program. `version`: 0 if the file has no tables
/// yet.
void Store::Database::checkSchema(std::int64_t version) const {
    Statement rows = prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema");
    const std::vector<std::string> ours = ourStatements(version > 0 ? version : std::int64_t{kSchema});
    std::size_t known = 0;
    while (rows.step()) {
        const std::string sql = bare(rows.text(2));
        const bool our = std::find(ours.begin(), ours.end(), sql) != ours.end();
        if (!our && !isSqlites(rows.text(0), sql))
            throwDamaged(m_path, "it holds the " + rows.text(0) + " '" + printable(rows.text(1), 60) +
                                     "', which is none of this program's");
        known += our ? 1 : 0;
    }
    if (version > 0 && known != ours.size()) throwDamaged(m_path, "tables are missing");
}

}  // namespace mpm::pipeline

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

// Schema 5: both for a minute and an hour, of the readings that have them.
const char* const kBucketReuseSql = R"sql(
ALTER TABLE bucket ADD COLUMN ages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bucket ADD COLUMN age_sum REAL NOT NULL DEFAULT 0;
ALTER TABLE bucket ADD COLUMN saves INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bucket ADD COLUMN saved_sum REAL NOT NULL DEFAULT 0;
PRAGMA user_version = 5;
)sql";

/// The columns of schemas 3, 4 and 5, as SQLite adds them to the statement of a table.
struct Added {
    const char *table, *columns;
};
constexpr Added kAdded[] = {
    {"createtablereading(", ",setupinteger,passintegernotnulldefault0,recomputedreal"},
    {"createtablereading(", ",token_agereal,saved_msreal"},
    {"createtablebucket(",
     ",agesintegernotnulldefault0,age_sumrealnotnulldefault0,savesintegernotnulldefault0,saved_sumrealnotnull"
     "default0"}};

constexpr std::int64_t kApplication = 0x4d504d73;  // "MPMs"; files of earlier versions have 0

/// Blanks and letter case do not count.
std::string bare(const std::string& sql) {
    std::string result;
    for (const char c : sql)
        if (std::isspace(static_cast<unsigned char>(c)) == 0)
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// Statements that make a table or an index of ours: in the present schema, and in earlier ones.
struct OurStatements {
    std::vector<std::string> present, older;
};

OurStatements readOurStatements() {
    OurStatements found;
    const std::string text = std::string(kSchemaSql) + kRegionsSql + kSetupSql;
    for (std::size_t from = 0, end; (end = text.find(';', from)) != std::string::npos; from = end + 1) {
        std::string statement = bare(text.substr(from, end - from));
        if (statement.rfind("create", 0) != 0) continue;
        for (const Added& added : kAdded) {
            if (statement.rfind(added.table, 0) != 0) continue;
            found.older.push_back(statement);
            // Before the key of the table, if the statement names it at its end.
            const std::size_t key = statement.find(",primarykey(");
            statement.insert(key != std::string::npos ? key : statement.size() - 1, added.columns);
        }
        found.present.push_back(statement);
    }
    return found;
}

const OurStatements& ourStatements() {
    static const OurStatements all = readOurStatements();
    return all;
}

bool isOneOf(const std::vector<std::string>& statements, const std::string& sql) {
    return std::find(statements.begin(), statements.end(), sql) != statements.end();
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
    if (found < 5) execute(kBucketReuseSql);
    if (found < 1) execute(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
    checkSchema(true);
    transaction.commit();
}

/// Triggers, views, generated columns and indexes on expressions are code; tables of others are not ours to
/// write beside.
void Store::Database::checkSchema(bool complete) const {
    Statement rows = prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema");
    const OurStatements& ours = ourStatements();
    std::size_t known = 0;
    while (rows.step()) {
        const std::string sql = bare(rows.text(2));
        const bool our = isOneOf(ours.present, sql);
        const bool older = !complete && isOneOf(ours.older, sql);
        if (!our && !older && !isSqlites(rows.text(0), sql))
            throwDamaged(m_path, "it holds the " + rows.text(0) + " '" + printable(rows.text(1), 60) +
                                     "', which is none of this program's");
        known += our ? 1 : 0;
    }
    if (complete && known != ours.present.size()) throwDamaged(m_path, "tables are missing");
}

}  // namespace mpm::pipeline

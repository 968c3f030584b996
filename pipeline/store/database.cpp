#include "pipeline/store/database.hpp"

#include <string>

namespace mpm::pipeline {

namespace {

// Times are milliseconds since 1970 UTC. `minute` and `hour` are kept beside the readings, in the same
// transaction, so that weeks are drawn from a few thousand rows and outlive the readings themselves.
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

// Schema 2: what each region of the picture held, beside the reading it belongs to.
constexpr const char* kRegionsSql = R"sql(
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

constexpr int kPatienceMs = 5'000;

}  // namespace

void throwStoreError(sqlite3* database, const std::string& path) {
    using Kind = StoreError::Kind;
    const std::string said = database != nullptr ? sqlite3_errmsg(database) : "out of memory";
    switch (database != nullptr ? sqlite3_errcode(database) : SQLITE_NOMEM) {
        case SQLITE_FULL:
            throw StoreError(Kind::DiskFull,
                             path + ": the disk is full; nothing of this write was kept, free some space");
        case SQLITE_IOERR:
            throw StoreError(Kind::DiskFull,
                             path + ": the disk refuses to read or write (" + said +
                                 "); nothing of this write was kept, look at its space and health");
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            throw StoreError(Kind::Locked,
                             path + ": another program holds the file locked; close it or try again");
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            throw StoreError(Kind::Damaged,
                             path + ": damaged, or not a store of measurements (" + said +
                                 "); move it away, or recover it with 'sqlite3 FILE .recover'");
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_PERM:
            throw StoreError(Kind::CannotOpen, path + ": cannot be opened for writing (" + said +
                                                   "); check that the folder exists and may be written");
        default:
            throw StoreError(Kind::Other, path + ": " + said);
    }
}

Statement::Statement(sqlite3* database, const char* sql, const std::string& path)
    : m_database(database), m_path(path) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) != SQLITE_OK)
        throwStoreError(database, path);
    m_statement.reset(statement);
}

Statement& Statement::bind(int index, std::int64_t value) {
    if (sqlite3_bind_int64(m_statement.get(), index, value) != SQLITE_OK) throwStoreError(m_database, m_path);
    return *this;
}

Statement& Statement::bind(int index, double value) {
    if (sqlite3_bind_double(m_statement.get(), index, value) != SQLITE_OK)
        throwStoreError(m_database, m_path);
    return *this;
}

Statement& Statement::bind(int index, const std::string& value) {
    const int size = static_cast<int>(value.size());
    if (sqlite3_bind_text(m_statement.get(), index, value.c_str(), size, SQLITE_TRANSIENT) != SQLITE_OK)
        throwStoreError(m_database, m_path);
    return *this;
}

bool Statement::step() {
    const int result = sqlite3_step(m_statement.get());
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    throwStoreError(m_database, m_path);
}

void Statement::run() {
    while (step()) {
    }
    sqlite3_reset(m_statement.get());
}

std::string Statement::text(int column) const {
    const unsigned char* value = sqlite3_column_text(m_statement.get(), column);
    return value != nullptr ? reinterpret_cast<const char*>(value) : "";
}

Store::Database::Database(const std::string& path) : m_path(path) {
    sqlite3* handle = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
    const int result = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    m_handle.reset(handle);  // given even on failure, to read the message from
    if (result != SQLITE_OK) throwStoreError(handle, path);
    configure();
    migrate();
}

void Store::Database::execute(const char* sql) {
    if (sqlite3_exec(m_handle.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        throwStoreError(m_handle.get(), m_path);
}

void Store::Database::configure() {
    sqlite3_busy_timeout(m_handle.get(), kPatienceMs);
    execute("PRAGMA journal_mode = WAL");
    // FULL: what was committed outlives a power cut too; at a few commits a second its price is not felt.
    execute("PRAGMA synchronous = FULL");
    execute("PRAGMA foreign_keys = ON");
}

void Store::Database::migrate() {
    const auto version = [this] {
        Statement read = prepare("PRAGMA user_version");
        read.step();
        return read.integer(0);
    };
    if (version() == Store::kSchema) return;
    Transaction transaction(*this);
    const std::int64_t found = version();  // another program may have been quicker
    if (found > Store::kSchema)
        throw StoreError(StoreError::Kind::NewerSchema, m_path + ": written by a newer version (schema " +
                                                            std::to_string(found) +
                                                            "); update this program, or name another file");
    if (found < 1) execute(kSchemaSql);
    if (found < 2) execute(kRegionsSql);
    transaction.commit();
}

void Store::Database::Transaction::commit() {
    m_database.execute("COMMIT");
    m_open = false;
}

Store::Database::Transaction::~Transaction() {
    if (m_open) sqlite3_exec(m_database.m_handle.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace mpm::pipeline

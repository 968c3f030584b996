#include "pipeline/store/database.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "base/printable.hpp"

namespace mpm::pipeline {

namespace {

constexpr int kPatienceMs = 5'000;
constexpr int kLongestValue = 1 << 20;  // bytes; a list of class shares has a few thousand

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
            throwDamaged(path, said);
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_PERM:
            throw StoreError(Kind::CannotOpen, path + ": cannot be opened for writing (" + said +
                                                   "); check that the folder exists and may be written");
        default:
            throw StoreError(Kind::Other, path + ": " + said);
    }
}

void throwDamaged(const std::string& path, const std::string& reason) {
    throw StoreError(StoreError::Kind::Damaged,
                     path + ": damaged, or not a store of measurements (" + printable(reason) +
                         "); move it away, or recover it with 'sqlite3 FILE .recover'");
}

Statement::Statement(sqlite3* database, const std::string& sql, const std::string& path)
    : m_database(database), m_path(path) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr));
    m_statement.reset(statement);
}

void Statement::check(int result) const {
    if (result != SQLITE_OK) throwStoreError(m_database, m_path);
}

void Statement::set(int index, std::int64_t value) {
    check(sqlite3_bind_int64(m_statement.get(), index, value));
}

void Statement::set(int index, double value) {
    check(sqlite3_bind_double(m_statement.get(), index, value));
}

void Statement::set(int index, const std::optional<double>& value) {
    if (value) return set(index, *value);
    check(sqlite3_bind_null(m_statement.get(), index));
}

void Statement::set(int index, const std::string& value) {
    const int size = static_cast<int>(value.size());
    check(sqlite3_bind_text(m_statement.get(), index, value.c_str(), size, SQLITE_TRANSIENT));
}

bool Statement::step() {
    const int result = sqlite3_step(m_statement.get());
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    throwStoreError(m_database, m_path);
}

std::string Statement::text(int column) const {
    const unsigned char* value = sqlite3_column_text(m_statement.get(), column);
    return value != nullptr ? reinterpret_cast<const char*>(value) : "";
}

Store::Database::Database(const std::string& path) : m_path(withoutLinks(path)) {
    static std::mutex mutex;  // lets only a single store of this program open a file at a time
    const std::lock_guard<std::mutex> lock(mutex);
    m_file = prepareFile(m_path);
    sqlite3* handle = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_NOFOLLOW;
    const int result = sqlite3_open_v2(m_path.c_str(), &handle, flags, nullptr);
    m_handle.reset(handle);  // also after a failure: the handle has the message, and must be closed
    if (result != SQLITE_OK) throwStoreError(handle, m_path);
    distrust();
    recognise();
    configure();
    migrate();
}

/// Prevents SQLite from executing code in the file, and limits all sizes, because the file is not trusted.
void Store::Database::distrust() {
    sqlite3* database = m_handle.get();
    sqlite3_extended_result_codes(database, 0);
    const auto set = [database](int what, int on) { sqlite3_db_config(database, what, on, nullptr); };
    set(SQLITE_DBCONFIG_DEFENSIVE, 1);
    set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0);
    set(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0);
    set(SQLITE_DBCONFIG_ENABLE_VIEW, 0);
    set(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0);
    set(SQLITE_DBCONFIG_DQS_DDL, 0);
    set(SQLITE_DBCONFIG_DQS_DML, 0);
    constexpr std::pair<int, int> kLimits[] = {
        {SQLITE_LIMIT_LENGTH, kLongestValue}, {SQLITE_LIMIT_SQL_LENGTH, 100'000},
        {SQLITE_LIMIT_COLUMN, 100},           {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_ATTACHED, 0},           {SQLITE_LIMIT_TRIGGER_DEPTH, 10},
        {SQLITE_LIMIT_WORKER_THREADS, 0},     {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100}};
    for (const auto& [what, most] : kLimits)
        sqlite3_limit(database, what, most);
    sqlite3_busy_timeout(database, kPatienceMs);
    execute("PRAGMA cell_size_check = ON");
    execute("PRAGMA mmap_size = 0");
}

void Store::Database::execute(const char* sql) {
    if (sqlite3_exec(m_handle.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        throwStoreError(m_handle.get(), m_path);
}

void Store::Database::configure() {
    execute("PRAGMA journal_mode = WAL");
    // FULL makes commits survive a power cut, and costs little time, because commits are rare.
    execute("PRAGMA synchronous = FULL");
    execute("PRAGMA foreign_keys = ON");
}

void Store::Database::backUp(const std::string& path) const {
    prepareFile(path);
    sqlite3* opened = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW;
    const int result = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
    const std::unique_ptr<sqlite3, Close> target(opened);
    if (result != SQLITE_OK) throwStoreError(opened, path);
    sqlite3_backup* copy = sqlite3_backup_init(opened, "main", m_handle.get(), "main");
    if (copy == nullptr) throwStoreError(opened, path);
    sqlite3_backup_step(copy, -1);
    if (sqlite3_backup_finish(copy) != SQLITE_OK) throwStoreError(opened, path);
}

void Store::Database::Transaction::commit() {
    m_database.execute("COMMIT");
    m_open = false;
}

Store::Database::Transaction::~Transaction() {
    if (m_open) sqlite3_exec(m_database.m_handle.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace mpm::pipeline

// Safe wrappers for SQLite's C interface: handles close themselves, and errors name the fault and the remedy.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>

#include "pipeline/store/number_list.hpp"
#include "pipeline/store/store.hpp"

namespace mpm::pipeline {

class Statement {
public:
    Statement(sqlite3* database, const std::string& sql, const std::string& path);

    /// Binds `values` to the parameters, in order.
    template <class... Values>
    Statement& bind(const Values&... values) {
        int index = 0;
        (set(++index, values), ...);
        return *this;
    }
    void set(int index, std::int64_t value);
    void set(int index, int value) { set(index, std::int64_t{value}); }
    void set(int index, Millis value) { set(index, std::int64_t{value.count()}); }
    void set(int index, double value);
    void set(int index, const std::optional<double>& value);  ///< binds NULL if the value is absent
    void set(int index, const std::string& value);
    bool step();  ///< runs to the next row; returns false if there is none
    /// Runs the statement to the end with these parameters, then resets it for the next run.
    template <class... Values>
    void run(const Values&... values) {
        bind(values...);
        while (step()) {
        }
        reset();
    }
    void reset() { sqlite3_reset(m_statement.get()); }

    std::int64_t integer(int column) const { return sqlite3_column_int64(m_statement.get(), column); }
    /// Returns the value, limited to the range of int, because a file may contain any value.
    int small(int column) const { return listNumber<int>(static_cast<double>(integer(column))); }
    double real(int column) const { return sqlite3_column_double(m_statement.get(), column); }
    std::string text(int column) const;
    bool isNull(int column) const { return sqlite3_column_type(m_statement.get(), column) == SQLITE_NULL; }

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    void check(int result) const;

    sqlite3* m_database;
    std::string m_path;
    std::unique_ptr<sqlite3_stmt, Finalize> m_statement;
};

/// The first and last time in the years 0 to 9999.
constexpr Millis kFirstTime{-62'167'219'200'000}, kLastTime{253'402'300'799'999};

/// Identifies a file; stays the same if the file is renamed.
struct FileId {
    std::uint64_t device = 0, number = 0;
    bool operator==(const FileId& other) const { return device == other.device && number == other.number; }
};

/// Prepares a file for SQLite: creates the file if it is missing, and makes it readable only by the owner.
/// Throws StoreError if one of these steps fails or the file is not regular.
FileId prepareFile(const std::string& path);

/// Returns `path` with all symbolic links in the folders resolved, because SQLite rejects links.
std::string withoutLinks(const std::string& path);

class Store::Database {
public:
    explicit Database(const std::string& path);

    template <class... Values>
    Statement prepare(const std::string& sql, const Values&... values) const {
        Statement statement(m_handle.get(), sql, m_path);
        statement.bind(values...);
        return statement;
    }
    template <class... Values>
    void run(const std::string& sql, const Values&... values) const {
        prepare(sql).run(values...);
    }
    void execute(const char* sql);
    const std::string& path() const { return m_path; }
    std::int64_t lastId() const { return sqlite3_last_insert_rowid(m_handle.get()); }
    bool moved() const;
    std::int64_t changes() const { return sqlite3_changes(m_handle.get()); }  ///< rows the last run changed

    /// A transaction that the destructor rolls back unless commit() was called.
    class Transaction {
    public:
        explicit Transaction(Database& database) : m_database(database) {
            m_database.execute("BEGIN IMMEDIATE");
        }
        ~Transaction();
        void commit();

    private:
        Database& m_database;
        bool m_open = true;
    };

private:
    void distrust();
    void configure();
    void recognise() const;
    void migrate();
    void backUp(const std::string& path) const;
    void checkSchema(std::int64_t version) const;
    std::int64_t number(const char* pragma) const;

    struct Close {
        void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    };
    std::string m_path;
    FileId m_file;
    std::unique_ptr<sqlite3, Close> m_handle;
};

[[noreturn]] void throwDamaged(const std::string& path, const std::string& reason);

/// Throws a StoreError for the connection's latest failure.
[[noreturn]] void throwStoreError(sqlite3* database, const std::string& path);

}  // namespace mpm::pipeline

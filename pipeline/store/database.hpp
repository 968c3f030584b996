// SQLite's C interface made safe: handles that close themselves, and errors that say what happened and what
// to do.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>

#include "pipeline/store/store.hpp"

namespace mpm::pipeline {

class Statement {
public:
    Statement(sqlite3* database, const char* sql, const std::string& path);

    Statement& bind(int index, std::int64_t value);
    Statement& bind(int index, double value);
    Statement& bind(int index, const std::string& value);
    bool step();  ///< true: a row
    void run();   ///< to the end, then ready for the next bindings
    void reset() { sqlite3_reset(m_statement.get()); }

    std::int64_t integer(int column) const { return sqlite3_column_int64(m_statement.get(), column); }
    double real(int column) const { return sqlite3_column_double(m_statement.get(), column); }
    std::string text(int column) const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    sqlite3* m_database;
    std::string m_path;
    std::unique_ptr<sqlite3_stmt, Finalize> m_statement;
};

class Store::Database {
public:
    explicit Database(const std::string& path);

    Statement prepare(const char* sql) const { return {m_handle.get(), sql, m_path}; }
    void execute(const char* sql);
    std::int64_t lastId() const { return sqlite3_last_insert_rowid(m_handle.get()); }
    std::int64_t changes() const { return sqlite3_changes(m_handle.get()); }  ///< rows of the last statement

    /// Rolls back unless committed.
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
    void configure();
    void migrate();

    struct Close {
        void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    };
    std::string m_path;
    std::unique_ptr<sqlite3, Close> m_handle;
};

/// Throws the StoreError of the connection's last failure.
[[noreturn]] void throwStoreError(sqlite3* database, const std::string& path);

}  // namespace mpm::pipeline

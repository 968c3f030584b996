// One object of a settings file that people may write by hand: what is absent keeps its default, and what is
// of another kind, or nobody asked for, is an error. A misspelt mask would show what it was made to hide.
#pragma once

#include <set>
#include <stdexcept>
#include <string>

#include <QJsonArray>
#include <QJsonObject>

namespace mpm::gui {

/// The file cannot be read as what it should be. One line that says where.
class WatchError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class JsonSection {
public:
    /// An absent value is an empty object. `where` begins what is said of errors; empty for the whole file.
    JsonSection(const QJsonValue& json, std::string where);

    void read(const char* name, bool& value);
    void read(const char* name, double& value);
    void read(const char* name, int& value);
    void read(const char* name, QString& value);
    void read(const char* name, std::string& value);
    QJsonArray list(const char* name);
    QJsonValue any(const char* name);
    QJsonObject object(const char* name);

    /// "where: name", for what is read of it elsewhere.
    std::string nameOf(const char* name) const;
    [[noreturn]] void refuse(const char* name, const std::string& expected) const;
    /// Throws where something is left that was not read.
    void finish() const;

private:
    QJsonObject m_json;
    std::string m_where;
    std::set<QString> m_read;
};

}  // namespace mpm::gui

// A JSON object of a settings file that people may edit. An absent value keeps its default. An unknown name
// or a wrong type is an error: if a misspelt "masks" were ignored, masked parts would be visible.
#pragma once

#include <set>
#include <stdexcept>
#include <string>

#include <QJsonArray>
#include <QJsonObject>

namespace mpm::gui {

/// Thrown if the settings file is not valid. The message is a single line and names the place.
class WatchError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class JsonSection {
public:
    /// If `json` is absent, the object is empty. `where`: the start of error messages; empty if the object is
    /// the whole file.
    JsonSection(const QJsonValue& json, std::string where);

    void read(const char* name, bool& value);
    void read(const char* name, double& value);
    void read(const char* name, int& value);
    void read(const char* name, QString& value);
    void read(const char* name, std::string& value);
    QJsonArray list(const char* name);
    QJsonValue any(const char* name);
    QJsonObject object(const char* name);

    /// Returns "where: name", for error messages of the caller.
    std::string nameOf(const char* name) const { return m_where.empty() ? name : m_where + ": " + name; }
    [[noreturn]] void refuse(const char* name, const std::string& expected) const;
    /// Throws if the object has a name that was not read. Must be called after all known names were read.
    void finish() const;

private:
    QJsonObject m_json;
    std::string m_where;
    std::set<QString> m_read;
};

}  // namespace mpm::gui

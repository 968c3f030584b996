#include "gui/services/json_section.hpp"

#include <climits>
#include <cmath>

namespace mpm::gui {

JsonSection::JsonSection(const QJsonValue& json, std::string where) : m_where(std::move(where)) {
    if (!json.isObject() && !json.isUndefined()) throw WatchError(m_where + ": expected an object, {...}");
    m_json = json.toObject();
}

void JsonSection::refuse(const char* name, const std::string& expected) const {
    throw WatchError(nameOf(name) + ": expected " + expected);
}

QJsonValue JsonSection::any(const char* name) {
    m_read.insert(QLatin1String(name));
    return m_json.value(QLatin1String(name));
}

void JsonSection::read(const char* name, bool& value) {
    const QJsonValue json = any(name);
    if (!json.isBool() && !json.isUndefined()) refuse(name, "true or false");
    value = json.toBool(value);
}

void JsonSection::read(const char* name, double& value) {
    const QJsonValue json = any(name);
    if (!json.isDouble() && !json.isUndefined()) refuse(name, "a number");
    value = json.toDouble(value);
}

void JsonSection::read(const char* name, int& value) {
    double number = value;
    read(name, number);
    // NaN and numbers that do not fit in an int are rejected too.
    if (!(number >= INT_MIN && number <= INT_MAX) || std::trunc(number) != number)
        refuse(name, "a whole number");
    value = static_cast<int>(number);
}

void JsonSection::read(const char* name, QString& value) {
    const QJsonValue json = any(name);
    if (!json.isString() && !json.isUndefined()) refuse(name, "a string");
    value = json.toString(value);
}

void JsonSection::read(const char* name, std::string& value) {
    QString text = QString::fromStdString(value);
    read(name, text);
    value = text.toStdString();
}

QJsonArray JsonSection::list(const char* name) {
    const QJsonValue json = any(name);
    if (!json.isArray() && !json.isUndefined()) refuse(name, "a list, [...]");
    return json.toArray();
}

QJsonObject JsonSection::object(const char* name) {
    const QJsonValue json = any(name);
    if (!json.isObject() && !json.isUndefined()) refuse(name, "an object, {...}");
    return json.toObject();
}

void JsonSection::finish() const {
    for (auto at = m_json.begin(); at != m_json.end(); ++at) {
        if (m_read.count(at.key()) == 0)
            throw WatchError(nameOf(qUtf8Printable(at.key())) + ": no such setting");
    }
}

}  // namespace mpm::gui

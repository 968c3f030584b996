// Short lists of numbers as JSON text, [1,2,3], and counts by id, {"1":2}. SQLite's JSON functions and other
// tools can read both.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "base/number.hpp"

namespace mpm::pipeline {

template <typename T>
std::string listText(const std::vector<T>& values) {
    std::string text = "[";
    for (const T& value : values) {
        if (text.size() > 1) text += ',';
        text += numberText(static_cast<double>(value));
    }
    return text + "]";
}

/// Converts a number from a file to T, limited to the range of T.
template <typename T>
T listNumber(double value) {
    if constexpr (std::is_integral_v<T>) {
        if (!(value == value)) return 0;  // not a number
        constexpr double kLeast = double(std::numeric_limits<T>::min());
        constexpr double kMost = double(std::numeric_limits<T>::max());
        if (value <= kLeast) return std::numeric_limits<T>::min();
        if (value >= kMost) return std::numeric_limits<T>::max();
    }
    return static_cast<T>(value);
}

template <typename T>
std::vector<T> parseList(const std::string& text) {
    std::vector<T> values;
    const char *at = text.data(), *const last = at + text.size();
    if (at != last && *at == '[') ++at;
    while (true) {
        const auto [value, end] = readNumber(at, last);
        if (end == at) return values;
        values.push_back(listNumber<T>(value));
        at = end != last && *end == ',' ? end + 1 : end;
    }
}

inline std::string countsText(const std::map<int, int>& counts) {
    std::string text = "{";
    for (const auto& [id, count] : counts)
        text += (text.size() > 1 ? ",\"" : "\"") + std::to_string(id) + "\":" + std::to_string(count);
    return text + "}";
}

/// Parses the text of countsText() up to the first error. Skips an entry with a negative id or count.
inline std::map<int, int> parseCounts(const std::string& text) {
    std::map<int, int> counts;
    const char *at = text.data(), *const last = at + text.size();
    while (last - at > 2 && (*at == '{' || *at == ',') && at[1] == '"') {
        const auto [id, idEnd] = readNumber(at + 2, last);
        if (idEnd == at + 2 || last - idEnd < 3 || idEnd[0] != '"' || idEnd[1] != ':') break;
        const auto [count, end] = readNumber(idEnd + 2, last);
        if (end == idEnd + 2) break;
        if (id >= 0 && count >= 0) counts[listNumber<int>(id)] = listNumber<int>(count);
        at = end;
    }
    return counts;
}

}  // namespace mpm::pipeline

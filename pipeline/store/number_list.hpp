// Short lists of numbers as JSON text, [1,2,3]: SQLite's own json functions read them, and so does everybody.
#pragma once

#include <string>
#include <vector>

#include "pipeline/number/number.hpp"

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

template <typename T>
std::vector<T> parseList(const std::string& text) {
    std::vector<T> values;
    const char *at = text.data(), *const last = at + text.size();
    if (at != last && *at == '[') ++at;
    while (true) {
        const auto [value, end] = readNumber(at, last);
        if (end == at) return values;
        values.push_back(static_cast<T>(value));
        at = end != last && *end == ',' ? end + 1 : end;
    }
}

}  // namespace mpm::pipeline

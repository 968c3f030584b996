// Short lists of numbers as JSON text, [1,2,3]: SQLite's own json functions read them, and so does everybody.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace mpm::pipeline {

template <typename T>
std::string listText(const std::vector<T>& values) {
    std::string text = "[";
    for (const T& value : values) {
        char number[32];
        std::snprintf(number, sizeof number, "%.6g", static_cast<double>(value));
        if (text.size() > 1) text += ',';
        text += number;
    }
    return text + "]";
}

template <typename T>
std::vector<T> parseList(const std::string& text) {
    std::vector<T> values;
    const char* at = text.c_str();
    if (*at == '[') ++at;
    for (char* end = nullptr;; at = *end == ',' ? end + 1 : end) {
        const double value = std::strtod(at, &end);
        if (end == at) return values;
        values.push_back(static_cast<T>(value));
    }
}

}  // namespace mpm::pipeline

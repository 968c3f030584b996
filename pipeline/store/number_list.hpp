// Short lists of numbers as JSON text, [1,2,3]: SQLite's json functions read them, and other tools do, too.
#pragma once

#include <limits>
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

/// The nearest value of the type if a list from elsewhere exceeds it.
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

}  // namespace mpm::pipeline

// Numbers as text for files and images, with a decimal point in every locale. printf() and strtod() would use
// the comma (0,5) of some users' locales.
#pragma once

#include <charconv>
#include <string>

namespace mpm {

/// Writes six significant digits, like "%.6g".
inline std::string numberText(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr};
}

/// Writes `digits` digits after the point, like "%.*f".
inline std::string fixedText(double value, int digits) {
    char text[400];  // the largest double has 309 digits before the point
    const auto [end, error] =
        std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
    return error == std::errc() ? std::string(text, end) : numberText(value);
}

/// A number and the end of its text. If the text does not begin with a number, `end` is the beginning.
struct NumberRead {
    double value;
    const char* end;
};

inline NumberRead readNumber(const char* begin, const char* end) {
    const char* at = begin;
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        ++at;
    double value = 0;
    const auto [after, error] = std::from_chars(at, end, value);
    return {value, error == std::errc::invalid_argument ? begin : after};
}

}  // namespace mpm

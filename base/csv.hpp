// Fields of CSV files.
#pragma once

#include <string>
#include <string_view>

#include "base/printable.hpp"

namespace mpm {

/// `text` as a field of a CSV file (RFC 4180): on a single line, quoted if necessary. Spreadsheets take text
/// that begins with = + - @ as a formula and run it: such text gets a ' in front, which spreadsheets do not
/// show. Numbers need no quotes.
inline std::string csvField(std::string_view text) {
    std::string field = printable(text);
    const std::size_t first = field.find_first_not_of(' ');
    if (first != std::string::npos && std::string_view("=+-@").find(field[first]) != std::string_view::npos)
        field.insert(0, 1, '\'');
    if (field.find_first_of(",;\"'\\ ") == std::string::npos) return field;
    std::string quoted = "\"";
    for (const char c : field)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

}  // namespace mpm

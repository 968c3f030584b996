// Text from models, sources and files, made safe to show, log and send: one line, no control characters,
// limited length. Text becomes safe as it enters the program, because it leaves in more places.
#pragma once

#include <string>
#include <string_view>

#include <QString>

#include "base/printable.hpp"

namespace mpm::gui {

/// Limit of a name, in bytes.
constexpr std::size_t kLongestName = 120;

inline QString safeText(std::string_view text, std::size_t limit = 400) {
    return QString::fromStdString(printable(text, limit));
}

inline QString safeText(const QString& text, std::size_t limit = 400) {
    return safeText(std::string_view(text.toStdString()), limit);
}

inline QString safeText(const char* text, std::size_t limit = 400) {
    return safeText(std::string_view(text), limit);
}

/// A name of a class, a region or a rule; applying it twice changes nothing.
inline std::string safeName(std::string_view text) {
    const std::string name = printable(text, 4 * kLongestName);
    return name.size() <= kLongestName ? name : printable(name, kLongestName - 5);  // " ... "
}

/// An error message of a library: line breaks stay.
inline QString safeLines(std::string_view text) {
    return QString::fromStdString(printableLines(text, 2000));
}

}  // namespace mpm::gui

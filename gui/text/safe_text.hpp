// Makes text from models, sources and files safe to show, log and send: one line, no control characters,
// limited length. Code that reads such text must make the text safe at once, because many parts of the
// program write the text.
#pragma once

#include <string>
#include <string_view>

#include <QString>

#include "base/printable.hpp"

namespace mpm::gui {

/// Maximum length of a name, in bytes.
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

/// Returns the safe name of a class, a region or a rule. A safe name is returned unchanged.
inline std::string safeName(std::string_view text) {
    const std::string name = printable(text, 4 * kLongestName);
    return name.size() <= kLongestName ? name : printable(name, kLongestName - 5);  // 5: for " ... "
}

/// Returns a library's error message, made safe. Line breaks remain.
inline QString safeLines(std::string_view text) {
    return QString::fromStdString(printableLines(text, 2000));
}

}  // namespace mpm::gui

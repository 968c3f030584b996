// Which parts of an address may be shown, and which are secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mpm::pipeline {

/// Replaces text that is left out.
inline constexpr const char* kLeftOut = "...";

struct AddressParts {
    std::string shown;
    std::vector<std::string> secrets;  ///< every piece left out, and the distinct parts of it

    void hide(const std::string& piece);
};

AddressParts partsOf(const std::string& text);

/// Whether the value of a parameter of this name is a secret: password, X-Amz-Signature, proxy-pw.
bool namesSecret(std::string_view key);

/// Whether this may be a host and port. Anything else in that place may be half of a password.
bool isHost(std::string_view text);

/// The end of the word at `from`; quotes and backslashes hide blanks.
size_t wordEnd(const std::string& text, size_t from);

/// A to Z as a to z, whatever the locale.
std::string lowered(std::string_view text);

inline bool isAnyOf(char c, std::string_view set) {
    return set.find(c) != std::string_view::npos;
}
inline bool isLetterOrDigit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
inline bool isBlank(char c) {
    return isAnyOf(c, " \t\r\n\v\f");
}

}  // namespace mpm::pipeline

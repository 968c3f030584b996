// Splits an address into text that may be shown, and secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mpm::pipeline {

/// Shown in place of hidden text.
inline constexpr const char* kLeftOut = "...";

struct AddressParts {
    std::string shown;
    std::vector<std::string> secrets;  ///< every hidden piece, and each word of a piece

    void hide(const std::string& piece);
};

AddressParts partsOf(const std::string& text);

/// Returns whether the value of a parameter `key` is secret. Examples: password, X-Amz-Signature, proxy-pw.
bool namesSecret(std::string_view key);

/// Returns whether `text` can be a host, with or without a port. If not, it may be a part of a password.
bool isHost(std::string_view text);

/// Returns the end of the word at `from`. A blank in quotes or after a backslash is part of the word.
size_t wordEnd(const std::string& text, size_t from);

/// Returns the text with A to Z in lower case, in any locale.
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

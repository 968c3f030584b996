#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "pipeline/source/address.hpp"

namespace mpm::pipeline {

namespace {

bool isBlank(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool endsWord(char c) {
    return isBlank(c) || c == '"' || c == '\'';
}
bool isKeyPart(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

/// user:password@host. A password may hold '/' or '@' where somebody forgot to escape it, so the credentials
/// are taken to reach to the last '@' of the word: hiding too much is harmless, hiding too little is not.
std::string hideUserInfo(const std::string& text) {
    std::string result;
    size_t from = 0;
    for (size_t scheme; (scheme = text.find("://", from)) != std::string::npos;) {
        const size_t start = scheme + 3;
        size_t end = start;
        while (end < text.size() && !endsWord(text[end]))
            ++end;
        result += text.substr(from, start - from);
        const size_t at = text.substr(0, end).rfind('@');
        const size_t colon = text.find(':', start);
        const bool secret =
            at != std::string::npos && at >= start && colon != std::string::npos && colon < at;
        if (secret)
            result += text.substr(start, colon - start) + ":***" + text.substr(at, end - at);
        else
            result += text.substr(start, end - start);
        from = end;
    }
    return result + text.substr(from);
}

/// The word before the '=' at `equals`, in lower case.
std::string keyBefore(const std::string& text, size_t equals) {
    size_t start = equals;
    while (start > 0 && isKeyPart(text[start - 1]))
        --start;
    std::string key = text.substr(start, equals - start);
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    return key;
}

bool namesSecret(const std::string& key) {
    constexpr std::array<std::string_view, 13> kSecrets = {
        "pass",  "password", "passwd", "passphrase", "pwd",     "pw",  "user-pw",
        "token", "secret",   "apikey", "api_key",    "api-key", "auth"};
    return std::find(kSecrets.begin(), kSecrets.end(), key) != kSecrets.end();
}

/// Past the value that begins at `start`: a quoted text, or up to what parts parameters in URLs and
/// pipelines.
size_t valueEnd(const std::string& text, size_t start) {
    if (start < text.size() && (text[start] == '"' || text[start] == '\'')) {
        const size_t quote = text.find(text[start], start + 1);
        return quote == std::string::npos ? text.size() : quote + 1;
    }
    size_t end = start;
    while (end < text.size() && !isBlank(text[end]) && text[end] != '&' && text[end] != ';' &&
           text[end] != '!')
        ++end;
    return end;
}

/// password=..., user-pw=..., token=... in queries and GStreamer pipelines.
std::string hideParameters(const std::string& text) {
    std::string result;
    size_t from = 0;
    for (size_t equals; (equals = text.find('=', from)) != std::string::npos;) {
        result += text.substr(from, equals + 1 - from);
        from = equals + 1;
        if (!namesSecret(keyBefore(text, equals))) continue;
        from = valueEnd(text, from);
        result += "***";
    }
    return result + text.substr(from);
}

}  // namespace

std::string Address::formerlyShown() const {
    return hideParameters(hideUserInfo(m_text));
}

}  // namespace mpm::pipeline

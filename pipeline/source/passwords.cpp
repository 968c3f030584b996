#include <cctype>
#include <regex>

#include "pipeline/source/source.hpp"

namespace mpm::pipeline {

namespace {

bool endsWord(char c) {
    return std::isspace(static_cast<unsigned char>(c)) || c == '"' || c == '\'';
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

std::string hideParameters(const std::string& text) {
    static const std::regex secret(
        R"re(\b(pass(?:word|wd|phrase)?|pwd|pw|user-pw|token|secret|api_?key|auth)=("[^"]*"|'[^']*'|[^&;\s!]+))re",
        std::regex::icase | std::regex::optimize);
    return std::regex_replace(text, secret, "$1=***");
}

}  // namespace

std::string withoutPasswords(const std::string& text) {
    return hideParameters(hideUserInfo(text));
}

}  // namespace mpm::pipeline

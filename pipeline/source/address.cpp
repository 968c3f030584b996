#include "pipeline/source/address.hpp"

#include <algorithm>
#include <string_view>

#include "pipeline/source/address_parts.hpp"

namespace mpm::pipeline {

namespace {

constexpr size_t kShortestSecret = 3;  // shorter text occurs in many words
constexpr size_t kLongWord = 8;

/// Writes `with` in place of `piece`. Does not replace a short piece inside a longer word: if the password is
/// "the", "other" should remain.
void replaceAll(std::string& text, const std::string& piece, const std::string& with) {
    if (piece.size() < kShortestSecret) return;
    const bool word = piece.size() < kLongWord && std::all_of(piece.begin(), piece.end(), isLetterOrDigit);
    std::string result;
    size_t from = 0, at = 0;
    for (size_t next = 0; (at = text.find(piece, next)) != std::string::npos;) {
        next = at + piece.size();
        const bool inside =
            (at > 0 && isLetterOrDigit(text[at - 1])) || (next < text.size() && isLetterOrDigit(text[next]));
        if (word && inside) continue;
        result += text.substr(from, at - from) + with;
        from = next;
    }
    text = result + text.substr(from);
}

/// Returns the end of the URL whose "://" is at `scheme`. The URL usually ends at the next blank or quote. If
/// the text before this blank has no '@' and does not begin with a host, the blank is part of a password, as
/// in rtsp://user:my word@host. Such a URL ends at the first blank or quote after the line's last '@'.
size_t urlEnd(const std::string& text, size_t scheme) {
    const auto next = [&](size_t from) {
        return std::min(text.find_first_of(" \t\r\n\"'<>", from), text.size());
    };
    const size_t start = scheme + 3, end = next(start);
    const size_t line = std::min(text.find_first_of("\r\n", start), text.size());
    const size_t beyond =
        end < line ? std::string_view(text).substr(end, line - end).rfind('@') : std::string_view::npos;
    const std::string_view word = std::string_view(text).substr(start, end - start);
    const bool whole = word.find('@') != std::string_view::npos || isHost(word.substr(0, word.find('/')));
    return whole || beyond == std::string_view::npos ? end : next(end + beyond);
}

std::string withShownUrls(const std::string& text) {
    std::string result;
    size_t from = 0;
    for (size_t scheme; (scheme = text.find("://", from)) != std::string::npos;) {
        size_t start = scheme;
        while (start > from && (isLetterOrDigit(text[start - 1]) || isAnyOf(text[start - 1], "+-.")))
            --start;
        size_t end = urlEnd(text, scheme);
        while (end > scheme + 3 && isAnyOf(text[end - 1], ",.;:)!") &&
               text.compare(end - 3, 3, kLeftOut) != 0)
            --end;
        result += text.substr(from, start - from) + partsOf(text.substr(start, end - start)).shown;
        from = end;
    }
    return result + text.substr(from);
}

std::string withoutSecretValues(const std::string& text) {
    std::string result;
    size_t from = 0;
    for (size_t equals; (equals = text.find('=', from)) != std::string::npos;) {
        size_t key = equals;
        while (key > from && (isLetterOrDigit(text[key - 1]) || isAnyOf(text[key - 1], "_-")))
            --key;
        result += text.substr(from, equals + 1 - from);
        from = equals + 1;
        if (!namesSecret(std::string_view(text).substr(key, equals - key))) continue;
        const size_t end = wordEnd(text, from);
        if (end > from) result += kLeftOut;
        from = end;
    }
    return result + text.substr(from);
}

/// Hides credentials of HTTP headers, such as "Basic dXNlcg==".
std::string withoutHeaders(std::string text) {
    for (const std::string_view kind : {"Basic ", "Bearer ", "basic ", "bearer ", "Digest ", "digest "})
        for (size_t at = 0; (at = text.find(kind, at)) != std::string::npos;) {
            at += kind.size();
            const size_t end = wordEnd(text, at);
            if (end > at) text.replace(at, end - at, kLeftOut);
        }
    return text;
}

}  // namespace

Address::Address(std::string text) : m_text(std::move(text)) {
    AddressParts parts = partsOf(m_text);
    m_shown = std::move(parts.shown);
    m_secrets = std::move(parts.secrets);
    std::sort(m_secrets.begin(), m_secrets.end(), [](const std::string& a, const std::string& b) {
        return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    m_secrets.erase(std::unique(m_secrets.begin(), m_secrets.end()), m_secrets.end());
    if (m_secrets.empty()) return;
    const auto known = [this](const std::string& piece) { return m_shown.find(piece) != std::string::npos; };
    const std::string longest = m_secrets.front();
    m_secrets.erase(std::remove_if(m_secrets.begin(), m_secrets.end(), known), m_secrets.end());
    if (m_secrets.empty()) m_secrets.push_back(longest);
}

Address Address::named(const Address& name, const std::string& text) {
    Address address(text);
    address.m_shown = name.shown();
    address.m_secrets.insert(address.m_secrets.begin(), text);
    address.m_named = true;
    return address;
}

std::string Address::redact(std::string message) const {
    if (hasSecrets()) replaceAll(message, m_text, m_shown);
    for (const std::string& piece : m_secrets)
        replaceAll(message, piece, kLeftOut);
    return redacted(message);
}

std::string redacted(const std::string& text) {
    return withoutSecretValues(withShownUrls(withoutHeaders(text)));
}

}  // namespace mpm::pipeline

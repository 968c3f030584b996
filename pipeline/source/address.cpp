#include "pipeline/source/address.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace mpm::pipeline {

namespace {

constexpr const char* kLeftOut = "...";

bool isAnyOf(char c, std::string_view set) {
    return set.find(c) != std::string_view::npos;
}
bool isWordPart(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// What is shown and what is left out.
struct Parts {
    std::string shown;
    std::vector<std::string> secrets;

    void hide(const std::string& piece) {
        if (!piece.empty()) secrets.push_back(piece);
    }
};

/// Names of parameters whose value is a secret: any word that contains one of these.
bool namesSecret(std::string key) {
    constexpr std::array<std::string_view, 14> kSecret = {"pass", "pwd",     "pw",   "token", "secret",
                                                          "key",  "auth",    "sig",  "cred",  "loginpas",
                                                          "user", "session", "hash", "code"};
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    return std::any_of(kSecret.begin(), kSecret.end(),
                       [&](std::string_view word) { return key.find(word) != std::string::npos; });
}

/// Host and port. Anything else in this place may be half of a password.
bool isHost(const std::string& text) {
    const bool plain =
        std::all_of(text.begin(), text.end(), [](char c) { return isWordPart(c) || isAnyOf(c, ".-_:[]"); });
    const size_t colon = text.rfind(':');
    const bool port = colon == std::string::npos || text.find(']', colon) != std::string::npos ||
                      std::all_of(text.begin() + static_cast<long>(colon) + 1, text.end(),
                                  [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    return plain && port;
}

bool isPlainSegment(const std::string& segment) {
    return std::all_of(segment.begin(), segment.end(),
                       [](char c) { return isWordPart(c) || isAnyOf(c, "._~-+ ") || (c & 0x80) != 0; });
}

/// The path up to the first segment that holds more than a name: parameters hide there too
/// ("/user=admin_password=..._channel=1").
void showPath(const std::string& path, Parts& parts) {
    size_t from = 0;
    while (from < path.size()) {
        const size_t end = std::min(path.find('/', from + 1), path.size());
        if (!isPlainSegment(path.substr(from + 1, end - from - 1))) break;
        parts.shown += path.substr(from, end - from);
        from = end;
    }
    if (from >= path.size()) return;
    parts.shown += std::string("/") + kLeftOut;
    parts.hide(path.substr(from + 1));
}

Parts urlParts(const std::string& text, size_t scheme) {
    Parts parts;
    const size_t start = scheme + 3;
    parts.shown = text.substr(0, start);
    std::string rest = text.substr(start);
    const size_t query = rest.find_first_of("?#;&");
    const size_t at = rest.rfind('@');
    // A password may hold '?' where somebody forgot to escape it, a query may hold '@': nobody can tell.
    if (query != std::string::npos && at != std::string::npos && query < at) {
        parts.shown += kLeftOut;
        parts.hide(rest);
        return parts;
    }
    if (query != std::string::npos) {
        parts.hide(rest.substr(query + 1));
        rest.resize(query);
    }
    if (at != std::string::npos) {
        parts.hide(rest.substr(0, at));
        const size_t colon = rest.find(':');
        if (colon < at) parts.hide(rest.substr(colon + 1, at - colon - 1));
        rest = rest.substr(at + 1);
    }
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string host = rest.substr(0, slash);
    if (isHost(host)) {
        parts.shown += host;
        showPath(rest.substr(slash), parts);
    } else {
        parts.shown += kLeftOut;
        parts.hide(rest);
    }
    return parts;
}

/// Past the word that begins at `from`; quotes and backslashes hide blanks and '!'.
size_t wordEnd(const std::string& text, size_t from) {
    char quote = 0;
    for (; from < text.size(); ++from) {
        const char c = text[from];
        if (c == '\\') {
            ++from;
        } else if (quote != 0) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            break;
        }
    }
    return std::min(from, text.size());
}

/// Only the names of elements and media types are shown: a property may hold anything.
Parts pipelineParts(const std::string& text) {
    Parts parts;
    parts.shown = "gst:";
    bool first = true;  // of an element
    for (size_t from = 4; from < text.size();) {
        if (std::isspace(static_cast<unsigned char>(text[from])) != 0) {
            ++from;
            continue;
        }
        const size_t end = wordEnd(text, from);
        const std::string word = text.substr(from, end - from);
        from = end;
        if (word == "!") {
            parts.shown += " !";
            first = true;
            continue;
        }
        const std::string name = word.substr(0, word.find_first_of(",("));
        const bool plain =
            std::all_of(name.begin(), name.end(), [](char c) { return isWordPart(c) || isAnyOf(c, "-_./"); });
        if (first && plain) {
            parts.shown += (parts.shown == "gst:" ? "" : " ") + name;
            parts.hide(word.substr(name.size()));
        } else {
            const size_t equals = word.find('=');
            std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
            value.erase(
                std::remove_if(value.begin(), value.end(), [](char c) { return c == '"' || c == '\''; }),
                value.end());
            parts.hide(value);
        }
        first = false;
    }
    return parts;
}

/// A path, a camera's number, or an address somebody wrote without its scheme.
Parts plainParts(const std::string& text) {
    Parts parts;
    const size_t colon = text.find(':'), at = text.rfind('@'), equals = text.find('=');
    if (colon != std::string::npos && at != std::string::npos && colon < at) {
        parts.hide(text.substr(0, at));
        parts.shown = kLeftOut;
        showPath("/" + text.substr(at + 1), parts);
        return parts;
    }
    if (equals == std::string::npos) {
        parts.shown = text;
        return parts;
    }
    size_t key = equals;
    while (key > 0 && !isAnyOf(text[key - 1], "/?&; "))
        --key;
    if (text.find('?') < equals) key = text.find('?');
    if (text.find('?') > equals && !namesSecret(text.substr(key, equals - key))) {
        parts.shown = text;
        return parts;
    }
    parts.shown = text.substr(0, key) + kLeftOut;
    parts.hide(text.substr(key));
    return parts;
}

Parts partsOf(const std::string& text) {
    if (text.rfind("gst:", 0) == 0) return pipelineParts(text);
    const size_t scheme = text.find("://");
    return scheme == std::string::npos ? plainParts(text) : urlParts(text, scheme);
}

void replaceAll(std::string& text, const std::string& piece, const std::string& with) {
    for (size_t at = 0; (at = text.find(piece, at)) != std::string::npos; at += with.size())
        text.replace(at, piece.size(), with);
}

/// URLs reach to the next blank or quote.
std::string withShownUrls(const std::string& text) {
    std::string result;
    size_t from = 0;
    for (size_t scheme; (scheme = text.find("://", from)) != std::string::npos;) {
        size_t start = scheme;
        while (start > from && (isWordPart(text[start - 1]) || isAnyOf(text[start - 1], "+-.")))
            --start;
        size_t end = scheme + 3;
        while (end < text.size() && !isAnyOf(text[end], " \t\r\n\"'<>"))
            ++end;
        result += text.substr(from, start - from) + Address(text.substr(start, end - start)).shown();
        from = end;
    }
    return result + text.substr(from);
}

std::string withoutSecretValues(const std::string& text) {
    std::string result;
    size_t from = 0;
    for (size_t equals; (equals = text.find('=', from)) != std::string::npos;) {
        size_t key = equals;
        while (key > from && (isWordPart(text[key - 1]) || isAnyOf(text[key - 1], "_-")))
            --key;
        result += text.substr(from, equals + 1 - from);
        from = equals + 1;
        if (!namesSecret(text.substr(key, equals - key))) continue;
        const size_t end = wordEnd(text, from);
        if (end > from) result += kLeftOut;
        from = end;
    }
    return result + text.substr(from);
}

}  // namespace

Address::Address(std::string text) : m_text(std::move(text)) {
    Parts parts = partsOf(m_text);
    m_shown = std::move(parts.shown);
    m_secrets = std::move(parts.secrets);
    std::sort(m_secrets.begin(), m_secrets.end(),
              [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string Address::redact(std::string message) const {
    if (hasSecrets()) replaceAll(message, m_text, m_shown);
    for (const std::string& piece : m_secrets)
        if (piece.size() >= 3) replaceAll(message, piece, kLeftOut);
    return redacted(message);
}

std::string redacted(const std::string& text) {
    return withoutSecretValues(withShownUrls(text));
}

}  // namespace mpm::pipeline

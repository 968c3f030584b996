#include "pipeline/source/address_parts.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace mpm::pipeline {

namespace {

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

std::optional<int> hexDigit(char c) {
    if (isDigit(c)) return c - '0';
    const char letter = static_cast<char>(c | 0x20);
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    return std::nullopt;
}

/// Decodes codes such as %41 (A), in a single pass.
std::string percentDecoded(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto high = text[i] == '%' && i + 2 < text.size() ? hexDigit(text[i + 1]) : std::nullopt;
        const auto low = high ? hexDigit(text[i + 2]) : std::nullopt;
        if (low) i += 2;
        result += low ? static_cast<char>(*high * 16 + *low) : text[i];
    }
    return result;
}

std::string withoutQuotes(std::string text) {
    text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return isAnyOf(c, "\"'\\"); }),
               text.end());
    return text;
}

/// Returns the words (runs of letters and digits). Any other character ends a word, so two such characters in
/// a row, or such a character at the beginning, give an empty word.
std::vector<std::string_view> wordsOf(std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t from = 0, end = 0; from < text.size(); from = end + 1) {
        for (end = from; end < text.size() && isLetterOrDigit(text[end]);)
            ++end;
        words.push_back(text.substr(from, end - from));
    }
    return words;
}

/// Returns whether a word looks like a random key: long, with many changes of kind (digit, small, capital).
bool looksDrawn(std::string_view run) {
    const auto kind = [](char c) { return isDigit(c) ? 0 : c >= 'a' ? 1 : 2; };
    size_t changes = 0;
    for (size_t i = 1; i < run.size(); ++i)
        changes += kind(run[i]) != kind(run[i - 1]) ? 1 : 0;
    return run.size() >= 16 && changes * 10 > run.size() * 3;
}

/// Returns whether a path segment looks like a UUID or a key: at least 4 groups of letters or digits, joined
/// by hyphens. The length of each group must be a multiple of 4.
bool looksGrouped(std::string_view segment) {
    if (segment.size() < 16) return false;
    size_t groups = 0, from = 0;
    bool even = true;
    std::string joined;
    while (from <= segment.size()) {
        const size_t end = std::min(segment.find('-', from), segment.size());
        even = even && (end - from) % 4 == 0 && end > from;
        joined += segment.substr(from, end - from);
        ++groups;
        from = end + 1;
    }
    const bool plain = std::all_of(joined.begin(), joined.end(), isLetterOrDigit);
    return groups >= 4 && even && plain;
}

/// Returns whether a path segment is only a name, without parameters or keys. If `file`, allows keys.
bool isPlainSegment(std::string_view segment, bool file) {
    const std::string text = percentDecoded(segment);
    const auto plain = [](char c) { return isLetterOrDigit(c) || isAnyOf(c, "._~-+, ") || (c & 0x80) != 0; };
    if (!file && segment.find(' ') != std::string_view::npos) return false;
    if (!std::all_of(text.begin(), text.end(), plain)) return false;
    if (file) return true;
    const std::vector<std::string_view> words = wordsOf(text);
    return std::none_of(words.begin(), words.end(), looksDrawn) && !looksGrouped(text);
}

/// Shows at most `most` segments of the path. If a segment is not only a name, hides the path from this
/// segment on, because the segment may contain parameters ("/user=admin_password=..._channel=1").
void showPath(const std::string& path, AddressParts& parts, bool file, int most) {
    size_t from = 0;
    for (int shown = 0; from < path.size(); ++shown) {
        const size_t end = std::min(path.find('/', from + 1), path.size());
        if (shown == most || !isPlainSegment(std::string_view(path).substr(from + 1, end - from - 1), file))
            break;
        parts.shown += path.substr(from, end - from);
        from = end;
    }
    if (from >= path.size()) return;
    parts.shown += std::string("/") + kLeftOut;
    parts.hide(path.substr(from + 1));
}

/// Splits a URL; `start` is the position after "://".
AddressParts urlParts(const std::string& text, size_t start) {
    AddressParts parts;
    parts.shown = text.substr(0, start);
    const std::string scheme = lowered(parts.shown);
    const bool file = scheme == "file://";
    std::string rest = text.substr(start);
    const size_t query = rest.find_first_of("?#;&|\"'<>\\");
    const size_t at = rest.rfind('@');
    // Hides the whole URL if '?' comes before '@', because it is unclear whether '?' is part of a password or
    // '@' is part of a query.
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
    if (!isHost(host)) {
        parts.shown += kLeftOut;
        parts.hide(rest);
        return parts;
    }
    parts.shown += host;
    // Shows only the first segment of an RTMP address, because the last segment is a key with which anyone
    // can send a stream.
    showPath(rest.substr(slash), parts, file, scheme.rfind("rtmp", 0) == 0 ? 1 : 1000);
    return parts;
}

/// Shows only the names of elements and media types of a pipeline, because a property may contain a secret.
AddressParts pipelineParts(const std::string& text) {
    AddressParts parts;
    parts.shown = "gst:";
    bool first = true;  // whether the next word is the first of an element
    for (size_t from = 4; from < text.size();) {
        if (isBlank(text[from])) {
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
        const bool plain = std::all_of(name.begin(), name.end(),
                                       [](char c) { return isLetterOrDigit(c) || isAnyOf(c, "-_./"); });
        if (first && plain) {
            parts.shown += (parts.shown == "gst:" ? "" : " ") + name;
            parts.hide(word.substr(name.size()));
        } else {
            const size_t equals = word.find('=');
            const std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
            parts.hide(value);
            parts.hide(withoutQuotes(value));
        }
        first = false;
    }
    return parts;
}

/// Returns the position at which parameters begin: the first '?' if an '=' follows, or the first parameter
/// with the name of a secret, whichever is earlier.
size_t firstParameter(const std::string& text) {
    for (size_t equals = text.find('='); equals != std::string::npos; equals = text.find('=', equals + 1)) {
        size_t key = equals;
        while (key > 0 && !isAnyOf(text[key - 1], "/?&; "))
            --key;
        const size_t query = text.find('?');
        if (query < equals) return query;
        if (namesSecret(std::string_view(text).substr(key, equals - key))) return key;
    }
    return std::string::npos;
}

bool isMediaName(const std::string& text) {
    constexpr std::array<std::string_view, 18> kEndings = {".jpg",  ".jpeg", ".png",  ".bmp", ".tif", ".tiff",
                                                           ".webp", ".ppm",  ".pgm",  ".pnm", ".mp4", ".avi",
                                                           ".mkv",  ".mov",  ".webm", ".m4v", ".ts",  ".mpg"};
    const std::string low = lowered(text);
    return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
        return low.size() > ending.size() &&
               low.compare(low.size() - ending.size(), ending.size(), ending) == 0;
    });
}

bool isFilePath(const std::string& text) {
    const bool rooted = !text.empty() && text[0] == '/' && text.compare(0, 2, "//") != 0;
    return rooted || text.rfind("./", 0) == 0 || text.rfind("../", 0) == 0 || text.rfind("~/", 0) == 0;
}

/// Splits a path, a camera index, or an address without a scheme.
AddressParts plainParts(const std::string& text) {
    AddressParts parts;
    const size_t colon = text.find(':'), at = text.rfind('@'), slash = text.rfind('/');
    const bool inName = isMediaName(text) && (slash == std::string::npos || at > slash);
    const bool path = isFilePath(text) || inName;
    if (at != std::string::npos && (colon < at || !path)) {
        parts.hide(text.substr(0, at));
        if (colon < at) parts.hide(text.substr(colon + 1, at - colon - 1));
        parts.shown = kLeftOut;
        showPath("/" + text.substr(at + 1), parts, false, 1000);
        return parts;
    }
    size_t end = firstParameter(text);
    if (!path && !isMediaName(text)) end = std::min(end, text.find('?'));
    parts.shown = text.substr(0, end);
    if (end == std::string::npos) return parts;
    parts.shown += kLeftOut;
    parts.hide(text.substr(end));
    return parts;
}

/// Returns the position after "scheme://", or 0 if the text does not begin with a scheme.
size_t schemeEnd(const std::string& text) {
    size_t end = 0;
    while (end < text.size() && (isLetterOrDigit(text[end]) || isAnyOf(text[end], "+-.")))
        ++end;
    return end > 0 && text.compare(end, 3, "://") == 0 ? end + 3 : 0;
}

AddressParts directParts(const std::string& text) {
    if (text.compare(0, 4, "gst:") == 0) return pipelineParts(text);
    if (const size_t start = schemeEnd(text)) return urlParts(text, start);
    if (text.find("://") == std::string::npos) return plainParts(text);
    AddressParts parts;  // hides everything, because other text comes before the address
    parts.shown = kLeftOut;
    parts.hide(text);
    return parts;
}

}  // namespace

std::string lowered(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

void AddressParts::hide(const std::string& piece) {
    if (piece.empty()) return;
    secrets.push_back(piece);
    // Also hides each word of the piece, because a message may quote only a part of the address.
    const std::string plain = percentDecoded(piece);
    if (plain != piece) secrets.push_back(plain);
    for (const std::string_view word : wordsOf(plain)) {
        const size_t end = static_cast<size_t>(word.data() + word.size() - plain.data());
        // A parameter's name before '=' is not a secret, but base64 text may also end in '='.
        const bool key = end + 1 < plain.size() && plain[end] == '=' && !isAnyOf(plain[end + 1], "=&; ");
        if (word.size() >= 3 && word != piece && !key) secrets.emplace_back(word);
    }
}

bool namesSecret(std::string_view key) {
    constexpr std::array<std::string_view, 15> kParts = {
        "pass",   "pwd",     "token",    "secret", "signature", "cred", "login", "apikey",
        "access", "session", "authoriz", "jwt",    "streamid",  "psk",  "cookie"};
    constexpr std::array<std::string_view, 13> kWords = {
        "pw", "sig", "key", "code", "hash", "user", "username", "usr", "uid", "pin", "auth", "sid", "ticket"};
    const std::string low = lowered(key);
    if (std::any_of(kParts.begin(), kParts.end(),
                    [&](std::string_view part) { return low.find(part) != std::string::npos; }))
        return true;
    const std::vector<std::string_view> words = wordsOf(low);
    return std::find_first_of(words.begin(), words.end(), kWords.begin(), kWords.end()) != words.end();
}

bool isHost(std::string_view text) {
    const size_t bracket = text.rfind(']');
    const bool literal = !text.empty() && text[0] == '[' && bracket != std::string_view::npos;
    const auto named = [](char c) { return isLetterOrDigit(c) || isAnyOf(c, ".-_"); };
    const auto numbered = [&](char c) { return named(c) || isAnyOf(c, ":%"); };
    std::string_view host = text.substr(0, text.find(':')), port;
    if (literal) host = text.substr(0, bracket + 1);
    port = text.substr(host.size());
    const bool good = literal ? std::all_of(host.begin() + 1, host.end() - 1, numbered)
                              : std::all_of(host.begin(), host.end(), named);
    if (port.empty()) return good;
    return good && port[0] == ':' && port.size() <= 6 && std::all_of(port.begin() + 1, port.end(), isDigit);
}

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
        } else if (isBlank(c)) {
            break;
        }
    }
    return std::min(from, text.size());
}

AddressParts partsOf(const std::string& text) {
    for (const std::string_view name : {"env:", "secret:"}) {
        if (text.compare(0, name.size(), name) != 0) continue;
        AddressParts parts = directParts(text.substr(name.size()));
        parts.shown.insert(0, name);
        return parts;
    }
    return directParts(text);
}

}  // namespace mpm::pipeline

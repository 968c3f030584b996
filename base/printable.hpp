// Text from files and other programs, made safe for a terminal, a log line or a page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace mpm {

namespace detail {

/// Length and code point of a UTF-8 character; the length is 0 if the bytes are not UTF-8.
struct Utf8Character {
    std::size_t length;
    std::uint32_t point;
};

inline Utf8Character utf8At(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(at);
    if (first < 0x80) return {1, first};
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {0, 0};
    std::uint32_t point = first & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xC0) != 0x80) return {0, 0};
        point = point << 6 | (byte(at + i) & 0x3FU);
    }
    constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    if (point < kSmallest[length] || point > 0x10FFFF || surrogate) return {0, 0};
    return {length, point};
}

/// Ranges (first, last) of code points without a glyph: control characters, which move the cursor; line and
/// paragraph separators; all format characters (Unicode's category Cf), which hide or reorder text; other
/// invisible fillers and selectors; private use. Variation selectors 1 to 16 are not in the list because
/// emoji need them.
inline constexpr std::uint32_t kUnprintable[][2] = {
    {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x034F, 0x034F},   {0x0600, 0x0605},
    {0x061C, 0x061C},   {0x06DD, 0x06DD},   {0x070F, 0x070F},   {0x0890, 0x0891},   {0x08E2, 0x08E2},
    {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F},   {0x3164, 0x3164},   {0xE000, 0xF8FF},   {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD},
    {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF},
};

inline bool isSafeToPrint(std::uint32_t point) {
    return std::none_of(std::begin(kUnprintable), std::end(kUnprintable),
                        [point](const auto& range) { return point >= range[0] && point <= range[1]; });
}

inline std::string escapedByte(unsigned char byte) {
    constexpr char kDigits[] = "0123456789abcdef";
    if (byte == '\n') return "\\n";
    if (byte == '\r') return "\\r";
    if (byte == '\t') return "\\t";
    return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace detail

inline bool isUtf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = detail::utf8At(text, at).length;
        if (length == 0) return false;
        at += length;
    }
    return true;
}

/// Returns a single line of valid UTF-8. Unprintable characters and bytes that are not UTF-8 become escapes
/// (\n, \x1b). If the text has more than `limit` bytes, " ... " replaces the middle. Not inlined, because GCC
/// 12 would falsely warn about reads beyond the end of a short string.
[[gnu::noinline]] inline std::string printable(std::string_view text, std::size_t limit = 400) {
    std::string result;
    const auto append = [&](std::size_t from, std::size_t to) {
        while (from < to) {
            const detail::Utf8Character character = detail::utf8At(text, from);
            const std::size_t length = character.length == 0 ? 1 : character.length;
            const bool safe = character.length > 0 && detail::isSafeToPrint(character.point);
            for (std::size_t i = from; i < from + length; ++i)
                result +=
                    safe ? std::string(1, text[i]) : detail::escapedByte(static_cast<unsigned char>(text[i]));
            from += length;
        }
    };
    const auto isInside = [&](std::size_t at) {
        return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    };
    if (text.size() <= limit) {
        append(0, text.size());
        return result;
    }
    std::size_t head = limit / 2, tail = text.size() - (limit - limit / 2);
    for (int i = 0; i < 3 && head > 0 && isInside(head); ++i)
        --head;
    for (int i = 0; i < 3 && tail < text.size() && isInside(tail); ++i)
        ++tail;
    append(0, head);
    result += " ... ";
    append(tail, text.size());
    return result;
}

/// Like printable(), but keeps line breaks. For messages of several lines that the program itself composes.
inline std::string printableLines(std::string_view text, std::size_t limit = 4000) {
    std::string result;
    for (std::size_t from = 0; from <= text.size() && result.size() <= limit;) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        if (from > 0) result += '\n';
        result += printable(text.substr(from, end - from), limit);
        from = end + 1;
    }
    return result;
}

}  // namespace mpm

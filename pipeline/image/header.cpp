#include "pipeline/image/header.hpp"

#include <cstring>
#include <string>

namespace mpm::pipeline {

namespace {

std::optional<ImageHeader> png(const FileBytes& file) {
    if (!file.begins("IHDR", 4, 12)) return std::nullopt;
    const int kind = file.at(25);
    const int channels = kind == 0 ? 1 : kind == 4 ? 2 : kind == 6 ? 4 : 3;
    return ImageHeader{ImageFormat::Png, file.big(16, 4), file.big(20, 4), channels, file.at(24) > 8 ? 2 : 1};
}

std::optional<ImageHeader> bmp(const FileBytes& file) {
    const std::uint32_t length = file.little(14, 4);
    if (length == 12) return ImageHeader{ImageFormat::Bmp, file.little(18, 2), file.little(22, 2), 3, 1, 1};
    const auto height = static_cast<std::int32_t>(file.little(22, 4));  // negative: rows from top to bottom
    return ImageHeader{ImageFormat::Bmp,
                       static_cast<std::int32_t>(file.little(18, 4)),
                       height < 0 ? -std::int64_t{height} : std::int64_t{height},
                       file.little(28, 2) == 32 ? 4 : 3,
                       1,
                       1};
}

/// Reads decimal numbers that are separated by blanks and comments.
class Digits {
public:
    Digits(const FileBytes& file, std::size_t at) : m_file(file), m_at(at) {}

    std::int64_t next() {
        while (m_at < m_file.size && !isDigit())
            m_at = m_file.at(m_at) == '#' ? lineEnd() : m_at + 1;
        std::int64_t value = m_at < m_file.size ? 0 : -1;
        for (; m_at < m_file.size && isDigit(); ++m_at)
            value = value > 1'000'000'000 ? value : value * 10 + (m_file.at(m_at) - '0');
        return value;
    }

private:
    bool isDigit() const { return m_file.at(m_at) >= '0' && m_file.at(m_at) <= '9'; }
    std::size_t lineEnd() const {
        std::size_t end = m_at;
        while (end < m_file.size && m_file.at(end) != '\n')
            ++end;
        return end;
    }

    const FileBytes& m_file;
    std::size_t m_at;
};

std::optional<ImageHeader> pnm(const FileBytes& file) {
    const char kind = static_cast<char>(file.at(1));
    Digits digits(file, 2);
    ImageHeader header{ImageFormat::Pnm, digits.next(), digits.next(), 3, 1};
    const std::int64_t largest = kind == '1' || kind == '4' ? 1 : digits.next();
    if (largest > 255) header.depth = 2;
    return header;
}

}  // namespace

std::uint32_t FileBytes::big(std::size_t i, int bytes) const {
    std::uint32_t value = 0;
    for (int b = 0; b < bytes; ++b)
        value = value << 8 | at(i + static_cast<std::size_t>(b));
    return value;
}

std::uint32_t FileBytes::little(std::size_t i, int bytes) const {
    std::uint32_t value = 0;
    for (int b = bytes - 1; b >= 0; --b)
        value = value << 8 | at(i + static_cast<std::size_t>(b));
    return value;
}

bool FileBytes::begins(const char* text, std::size_t length, std::size_t from) const {
    return from <= size && length <= size - from && std::memcmp(data + from, text, length) == 0;
}

std::optional<ImageHeader> imageHeader(const FileBytes& file) {
    std::optional<ImageHeader> header;
    if (file.begins("\xff\xd8", 2)) {
        const auto segments = jpegSegments(file);
        if (segments) header = segments->header;
    } else if (file.begins("\x89PNG\r\n\x1a\n", 8)) {
        header = png(file);
    } else if (file.begins("BM", 2)) {
        header = bmp(file);
    } else if (file.at(0) == 'P' && std::memchr("123456", file.at(1), 6) != nullptr) {
        header = pnm(file);
    } else {
        header = containerHeader(file);
    }
    const bool sized = header && header->width > 0 && header->height > 0 && header->channels > 0;
    return sized ? header : std::nullopt;
}

}  // namespace mpm::pipeline

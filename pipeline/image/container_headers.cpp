// Reads the headers of TIFF and WebP images. A TIFF image may have its size anywhere in the file.
#include <algorithm>

#include "pipeline/image/header.hpp"

namespace mpm::pipeline {

namespace {

/// Reads the header of a TIFF file, in the file's byte order.
class Tiff {
public:
    explicit Tiff(const FileBytes& file) : m_file(file), m_big(file.at(0) == 'M') {}

    std::optional<ImageHeader> header() const {
        const bool large = number(2, 2) == 43;
        const std::uint64_t directory = large ? wide(8) : number(4, 4);
        const std::uint64_t count = large ? wide(directory) : number(directory, 2);
        const std::uint64_t step = large ? 20 : 12;
        ImageHeader found{ImageFormat::Tiff, 0, 0, 1, 1, 1};
        std::int64_t tileWidth = 0, tileHeight = 0;
        std::uint64_t at = directory + (large ? 8 : 2);
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, 4096) && at < m_file.size;
             ++i, at += step) {
            const std::int64_t value =
                number(at + 2, 2) == 3 ? number(at + (large ? 12 : 8), 2) : number(at + (large ? 12 : 8), 4);
            const std::uint32_t tag = number(at, 2);
            if (tag == 256) found.width = value;
            if (tag == 257) found.height = value;
            if (tag == 258) found.depth = bytesOf(at, large, value);
            if (tag == 277) found.channels = static_cast<int>(std::clamp<std::int64_t>(value, 1, 65'535));
            if (tag == 322) tileWidth = value;
            if (tag == 323) tileHeight = value;
        }
        // A decoder needs memory for whole tiles, even if most of a tile is outside the image.
        found.width = std::max(found.width, tileWidth);
        found.height = std::max(found.height, tileHeight);
        return found;
    }

private:
    std::uint32_t number(std::uint64_t at, int bytes) const {
        return m_big ? m_file.big(at, bytes) : m_file.little(at, bytes);
    }
    std::uint64_t wide(std::uint64_t at) const {
        const std::uint64_t low = number(at + (m_big ? 4 : 0), 4), high = number(at + (m_big ? 0 : 4), 4);
        return high << 32 | low;
    }

    /// Returns the bytes of a channel. `value`: the number of bits. If the entry at `at` has no room for the
    /// numbers of all channels, reads the first number at the offset in the entry instead.
    int bytesOf(std::uint64_t at, bool large, std::int64_t value) const {
        const std::uint64_t count = large ? wide(at + 4) : number(at + 4, 4);
        if (count > (large ? 4U : 2U)) {
            const std::uint64_t where = large ? wide(at + 12) : number(at + 8, 4);
            value = number(where, 2);
        }
        return value <= 8 ? 1 : value <= 16 ? 2 : value <= 32 ? 4 : 8;
    }

    const FileBytes& m_file;
    const bool m_big;
};

std::optional<ImageHeader> webp(const FileBytes& file) {
    ImageHeader header{ImageFormat::WebP, 0, 0, 4, 1, 1};
    if (file.begins("VP8X", 4, 12)) {
        header.width = std::int64_t{file.little(24, 3)} + 1;
        header.height = std::int64_t{file.little(27, 3)} + 1;
    } else if (file.begins("VP8L", 4, 12)) {
        const std::uint32_t bits = file.little(21, 4);
        header.width = (bits & 0x3FFF) + 1;
        header.height = (bits >> 14 & 0x3FFF) + 1;
    } else if (file.begins("VP8 ", 4, 12)) {
        header.width = file.little(26, 2) & 0x3FFF;
        header.height = file.little(28, 2) & 0x3FFF;
    }
    return header;
}

}  // namespace

std::optional<ImageHeader> containerHeader(const FileBytes& file) {
    if (file.begins("II*\0", 4) || file.begins("MM\0*", 4) || file.begins("II+\0", 4) ||
        file.begins("MM\0+", 4))
        return Tiff(file).header();
    if (file.begins("RIFF", 4) && file.begins("WEBP", 4, 8)) return webp(file);
    return std::nullopt;
}

}  // namespace mpm::pipeline

#include "pipeline/image/radiance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/checked.hpp"

namespace mpm::pipeline {

namespace {

constexpr int kExponentOfOne = 128 + 8;  // mantissas of eight bits
constexpr unsigned kLongestRun = 128;    // larger counts repeat the next byte
constexpr std::size_t kLongestHeader = 64 * 1024;

struct Layout {
    std::int64_t width = 0, height = 0;
    std::size_t pixels = 0;  ///< where they begin
};

/// Lines up to an empty one, one of them with the format, then "-Y 480 +X 640".
std::optional<Layout> layoutOf(const FileBytes& file) {
    const std::string text(reinterpret_cast<const char*>(file.data), std::min(file.size, kLongestHeader));
    const std::size_t blank = text.find("\n\n");
    if (blank == std::string::npos) return std::nullopt;
    if (text.substr(0, blank + 1).find("\nFORMAT=32-bit_rle_rgbe\n") == std::string::npos)
        return std::nullopt;
    const std::size_t end = text.find('\n', blank + 2);
    if (end == std::string::npos) return std::nullopt;
    const std::string size = text.substr(blank + 2, end - blank - 2);
    unsigned height = 0, width = 0;
    if (std::sscanf(size.c_str(), "-Y %9u +X %9u", &height, &width) != 2) return std::nullopt;
    return Layout{width, height, end + 1};
}

/// Four bytes for each pixel: as they are, or in runs, each of the four for a whole row.
class Rows {
public:
    Rows(const FileBytes& file, const Layout& layout)
        : m_file(file),
          m_at(layout.pixels),
          m_width(static_cast<std::size_t>(layout.width)),
          m_planes(4 * m_width) {}

    bool read(cv::Vec3f* row) {
        const bool runs = m_width >= 8 && m_width <= 0x7FFF && m_file.at(m_at) == 2 &&
                          m_file.at(m_at + 1) == 2 && m_file.at(m_at + 2) < 128;
        if (!(runs ? readRuns() : readPlain())) return false;
        for (std::size_t x = 0; x < m_width; ++x)
            row[x] = colour(x);
        return true;
    }

private:
    bool readPlain() {
        if (m_at > m_file.size || (m_file.size - m_at) / 4 < m_width) return false;
        for (std::size_t x = 0; x < m_width; ++x)
            for (std::size_t plane = 0; plane < 4; ++plane)
                m_planes[plane * m_width + x] = m_file.at(m_at++);
        return true;
    }

    bool readRuns() {
        if (m_file.big(m_at + 2, 2) != m_width) return false;
        m_at += 4;
        for (std::size_t plane = 0; plane < 4; ++plane)
            for (std::size_t x = 0; x < m_width;) {
                const std::size_t count = run(&m_planes[plane * m_width + x], m_width - x);
                if (count == 0) return false;
                x += count;
            }
        return true;
    }

    /// How many bytes it was; 0 where it is damaged.
    std::size_t run(unsigned char* to, std::size_t room) {
        const unsigned code = m_file.at(m_at++);
        const bool repeated = code > kLongestRun;
        const std::size_t count = repeated ? code - kLongestRun : code;
        const std::size_t bytes = repeated ? 1 : count;
        if (count > room || m_at > m_file.size || bytes > m_file.size - m_at) return 0;
        for (std::size_t i = 0; i < count; ++i)
            to[i] = m_file.at(m_at + (repeated ? 0 : i));
        m_at += bytes;
        return count;
    }

    cv::Vec3f colour(std::size_t x) const {
        const int exponent = m_planes[3 * m_width + x];
        if (exponent == 0) return {};
        const float one = std::ldexp(1.0F, exponent - kExponentOfOne);
        const auto part = [&](std::size_t plane) {
            return one * static_cast<float>(m_planes[plane * m_width + x]);
        };
        return {part(2), part(1), part(0)};
    }

    const FileBytes& m_file;
    std::size_t m_at;
    const std::size_t m_width;
    std::vector<unsigned char> m_planes;
};

}  // namespace

std::optional<ImageHeader> radianceHeader(const FileBytes& file) {
    const auto layout = layoutOf(file);
    if (!layout) return std::nullopt;
    return ImageHeader{ImageFormat::Hdr, layout->width, layout->height, 3, 4, 4};
}

cv::Mat decodeRadiance(const FileBytes& file) {
    const auto layout = layoutOf(file);
    // Each row takes four bytes at least.
    if (!layout || layout->height > static_cast<std::int64_t>(file.size / 4)) return {};
    cv::Mat image(checkedCast<int>(layout->height), checkedCast<int>(layout->width), CV_32FC3);
    Rows rows(file, *layout);
    for (int y = 0; y < image.rows; ++y)
        if (!rows.read(image.ptr<cv::Vec3f>(y))) return {};
    return image;
}

}  // namespace mpm::pipeline

// Reads a whole file that is not trusted.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace mpm {

/// The bytes of a regular file of at most `limit` bytes. A pipe or a device is rejected without waiting for
/// it. Throws cv::Exception that names the path and the reason.
std::string readRegularFile(const std::string& path, std::uint64_t limit);

/// The lines of a regular file, line by line: a file may be longer than the memory, a line may not.
class LineReader {
public:
    /// Throws cv::Exception as readRegularFile(). `longest`: bytes of a line.
    LineReader(const std::string& path, std::size_t longest);

    /// The next line without the line break. False at the end of the file, or if it cannot be read. Throws
    /// cv::Exception if the line is too long.
    bool next(std::string& line);
    bool failed() const { return std::ferror(m_file.get()) != 0; }
    /// Whether the last line ended with a line break.
    bool whole() const { return m_whole; }

private:
    const std::string m_path;
    const std::size_t m_longest;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> m_file;
    bool m_whole = false;
};

}  // namespace mpm

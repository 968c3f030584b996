// Reads untrusted files, completely or line by line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace mpm {

/// Reads a regular file of at most `limit` bytes. Rejects a pipe or a device without waiting for it. Throws
/// cv::Exception that names the path and the reason.
std::string readRegularFile(const std::string& path, std::uint64_t limit);

/// Reads a regular file line by line, so the file may be larger than the memory.
class LineReader {
public:
    /// `longest`: the largest number of bytes in a line. Throws cv::Exception like readRegularFile().
    LineReader(const std::string& path, std::size_t longest);

    /// Reads the next line, without the line break. Returns false at the end of the file, or if the file
    /// cannot be read. Throws cv::Exception if the line is too long.
    bool next(std::string& line);
    bool failed() const { return std::ferror(m_file.get()) != 0; }
    /// Returns whether the line of the most recent next() ended with a line break.
    bool whole() const { return m_whole; }

private:
    const std::string m_path;
    const std::size_t m_longest;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> m_file;
    bool m_whole = false;
};

}  // namespace mpm

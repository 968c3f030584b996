#include "base/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <opencv2/core.hpp>

#include "base/descriptors.hpp"
#include "base/printable.hpp"

namespace mpm {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
    CV_Error(cv::Error::StsError, printable(path) + " " + reason);
}

/// Reads `size` bytes, or fewer if another program shortens the file during the read.
std::string readAll(int file, std::size_t size, const std::string& path) {
    std::string bytes(size, '\0');
    std::size_t at = 0;
    while (at < size) {
        const ssize_t count = read(file, bytes.data() + at, std::min<std::size_t>(size - at, 1 << 30));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(path, std::string("cannot be read (") + std::strerror(errno) + ")");
        if (count == 0) break;
        at += static_cast<std::size_t>(count);
    }
    bytes.resize(at);
    return bytes;
}

/// Opens a regular file, and sets `there` with fstat(). The caller must close the returned descriptor.
int openRegular(const std::string& path, struct stat& there) {
    // Without O_NONBLOCK, open() of a pipe would wait until another process opens the pipe for writing.
    const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) fail(path, std::string("cannot be opened (") + std::strerror(errno) + ")");
    if (fstat(file, &there) == 0 && S_ISREG(there.st_mode)) return file;
    close(file);
    fail(path, "is no regular file; name a file");
}

}  // namespace

std::string readRegularFile(const std::string& path, std::uint64_t limit) {
    struct stat there {};
    const Descriptor file(openRegular(path, there));
    const auto size = static_cast<std::uint64_t>(there.st_size);
    if (size > limit)
        fail(path, "has " + std::to_string(size) + " bytes, more than the " + std::to_string(limit) +
                       " that such a file may have");
    return readAll(file.get(), static_cast<std::size_t>(size), path);
}

LineReader::LineReader(const std::string& path, std::size_t longest)
    : m_path(path), m_longest(longest), m_file(nullptr, &std::fclose) {
    struct stat there {};
    const int file = openRegular(path, there);
    m_file.reset(fdopen(file, "rb"));
    if (m_file) return;
    close(file);
    fail(path, "cannot be opened (" + std::string(std::strerror(errno)) + ")");
}

bool LineReader::next(std::string& line) {
    line.clear();
    int c = 0;
    while ((c = getc_unlocked(m_file.get())) != EOF && c != '\n') {
        if (line.size() == m_longest)
            fail(m_path, "has a line of more than " + std::to_string(m_longest) + " bytes");
        line += static_cast<char>(c);
    }
    m_whole = c == '\n';
    return !failed() && (m_whole || !line.empty());
}

}  // namespace mpm

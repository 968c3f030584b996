#include "base/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <opencv2/core.hpp>

#include "base/printable.hpp"

namespace mpm {
namespace {

class Descriptor {
public:
    explicit Descriptor(int file) : m_file(file) {}
    ~Descriptor() {
        if (m_file >= 0) close(m_file);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return m_file; }

private:
    int m_file;
};

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
    CV_Error(cv::Error::StsError, printable(path) + " " + reason);
}

/// A file may shrink while it is read: only the present bytes count.
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

}  // namespace

std::string readRegularFile(const std::string& path, std::uint64_t limit) {
    // Without O_NONBLOCK a pipe would block the program here until another process writes to it.
    const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat there {};
    if (file.get() < 0 || fstat(file.get(), &there) != 0)
        fail(path, std::string("cannot be opened (") + std::strerror(errno) + ")");
    if (!S_ISREG(there.st_mode)) fail(path, "is no regular file; name a file");
    const auto size = static_cast<std::uint64_t>(there.st_size);
    if (size > limit)
        fail(path, "has " + std::to_string(size) + " bytes, more than the " + std::to_string(limit) +
                       " that such a file may have");
    return readAll(file.get(), static_cast<std::size_t>(size), path);
}

}  // namespace mpm

#include "base/pending_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <opencv2/core.hpp>

namespace fs = std::filesystem;

namespace mpm {
namespace {

[[noreturn]] void refuse(const std::string& name, int reason) {
    CV_Error(cv::Error::StsError, name + ": cannot be written (" + std::strerror(reason) +
                                      "); name a file in a folder that may be written");
}

/// What a chain of links ends in, there or not.
fs::path destination(fs::path path) {
    std::error_code error;
    for (int links = 0; links < 40 && fs::is_symlink(path, error); ++links) {
        const fs::path next = fs::read_symlink(path, error);
        if (error) break;
        path = path.parent_path() / next;  // an absolute one stands alone
    }
    return path;
}

/// /dev/stdout opened anew would begin at the start of a file that has half of the output already.
int streamOf(const struct stat& file) {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        struct stat other {};
        if (fstat(stream, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino)
            return stream;
    }
    return -1;
}

/// A new empty file in `folder` that only its owner may read, of a name that nobody can foresee; empty where
/// none can be made (errno says why).
std::string newFile(const fs::path& folder, const mode_t* mode) {
    std::string path = (folder / ".mpm-XXXXXX.part").string();
    const int file = mkostemps(path.data(), 5, O_CLOEXEC);
    if (file < 0) return {};
    if (mode != nullptr && fchmod(file, *mode) != 0) errno = 0;  // its own rights are better than no file
    close(file);
    return path;
}

/// The bytes reach the disk before the name does: after a power cut the old file is there, or the new one.
bool syncFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return false;
    const bool synced = fsync(file) == 0 || errno == EINVAL || errno == EROFS;  // not every file system can
    const int reason = errno;
    close(file);
    errno = reason;
    return synced;
}

fs::path temporaryFolder() {
    std::error_code error;
    const fs::path folder = fs::temp_directory_path(error);
    return error ? fs::path("/tmp") : folder;
}

bool writeAll(int file, const char* bytes, size_t count) {
    while (count > 0) {
        const ssize_t written = write(file, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes += written;
        count -= static_cast<size_t>(written);
    }
    return true;
}

bool copyTo(int file, const std::string& path) {
    std::FILE* from = std::fopen(path.c_str(), "rbe");
    if (from == nullptr) return false;
    std::array<char, 65536> part{};
    bool good = true;
    for (size_t count; good && (count = std::fread(part.data(), 1, part.size(), from)) > 0;)
        good = writeAll(file, part.data(), count);
    const int reason = errno;
    std::fclose(from);
    errno = reason;
    return good;
}

}  // namespace

PendingFile::PendingFile(const std::string& target) : m_name(target), m_target(target) {
    struct stat there {};
    const bool exists = stat(target.c_str(), &there) == 0;
    if (fs::path(target).filename().empty() || (exists && S_ISDIR(there.st_mode)))
        CV_Error(cv::Error::StsBadArg, "'" + target + "' is a folder; name a file to write to");
    if (exists) m_stream = streamOf(there);
    m_through = exists && (m_stream >= 0 || !S_ISREG(there.st_mode));
    if (exists && m_stream < 0 && faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
        refuse(m_name, errno);
    if (!m_through) m_target = destination(target).string();
    const fs::path beside = fs::path(m_target).parent_path();
    const mode_t mode = there.st_mode & 07777;
    m_path = newFile(m_through ? temporaryFolder() : beside, exists && !m_through ? &mode : nullptr);
    if (m_path.empty()) refuse(m_name, errno);
}

PendingFile::~PendingFile() {
    if (!m_path.empty()) std::remove(m_path.c_str());
}

void PendingFile::write(std::string_view bytes) {
    const int file = open(m_path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    const bool written = file >= 0 && writeAll(file, bytes.data(), bytes.size());
    const int reason = errno;
    if (file >= 0 && close(file) != 0 && written) refuse(m_name, errno);
    if (!written) refuse(m_name, reason);
}

void PendingFile::keep() {
    if (m_through) return copyThrough();
    if (!syncFile(m_path) || std::rename(m_path.c_str(), m_target.c_str()) != 0) refuse(m_name, errno);
    m_path.clear();
}

void PendingFile::copyThrough() const {
    std::cout.flush();
    const int file = m_stream >= 0 ? m_stream : open(m_target.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    const bool written = file >= 0 && copyTo(file, m_path);
    const int reason = errno;
    if (file >= 0 && file != m_stream) close(file);
    if (!written) refuse(m_name, reason);
}

}  // namespace mpm

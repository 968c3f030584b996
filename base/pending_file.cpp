#include "base/pending_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <opencv2/core.hpp>

namespace fs = std::filesystem;

namespace mpm {
namespace {

std::string advice(int reason) {
    switch (reason) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return "free some space, or name another place";
        case EIO:
            return "look at the disk's health";
        case ENOMEM:
        case EMFILE:
        case ENFILE:
            return "close other programs";
        default:
            return "name a file in a folder that may be written";
    }
}

/// Follows a chain of symbolic links to the final target, which need not exist.
fs::path destination(fs::path path) {
    std::error_code error;
    for (int links = 0; links < 40 && fs::is_symlink(path, error); ++links) {
        const fs::path next = fs::read_symlink(path, error);
        if (error) break;
        path = path.parent_path() / next;  // if `next` is absolute, it replaces the folder
    }
    return path;
}

/// Returns the standard stream that writes to `file`, or -1. Such a file (/dev/stdout) must not be opened
/// again: writing would begin at the start of the file and overwrite earlier output.
int streamOf(const struct stat& file) {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        struct stat other {};
        if (fstat(stream, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino)
            return stream;
    }
    return -1;
}

fs::path temporaryFolder() {
    std::error_code error;
    const fs::path folder = fs::temp_directory_path(error);
    return error ? fs::path("/tmp") : folder;
}

}  // namespace

void failWriting(const std::string& name, int reason) {
    CV_Error(cv::Error::StsError,
             name + ": cannot be written (" + std::strerror(reason) + "); " + advice(reason));
}

PendingFile::PendingFile(const std::string& target, Access access) : m_name(target), m_target(target) {
    struct stat there {};
    const bool exists = stat(target.c_str(), &there) == 0;
    if (fs::path(target).filename().empty() || (exists && S_ISDIR(there.st_mode)))
        CV_Error(cv::Error::StsBadArg, "'" + target + "' is a folder; name a file to write to");
    if (exists) m_stream = streamOf(there);
    m_through = exists && (m_stream >= 0 || !S_ISREG(there.st_mode));
    if (exists && m_stream < 0 && faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) refuse(errno);
    if (!m_through) m_target = destination(target).string();
    m_exists = exists;
    m_folder = m_through ? temporaryFolder().string() : fs::path(m_target).parent_path().string();
    m_scratch.emplace(m_folder, exists ? Access::Owner : access);
    if (!m_scratch->isOpen()) refuse(errno);
    // If the mode cannot be copied, the file is still written.
    if (exists && !m_through) static_cast<void>(m_scratch->setMode(there.st_mode & 07777));
}

void PendingFile::refuse(int reason) const {
    failWriting(m_name, reason);
}

void PendingFile::write(std::string_view bytes) {
    if (!m_scratch->write(bytes)) refuse(errno);
}

/// Syncs the file before the rename, so that a power failure leaves either the old or the new file.
void PendingFile::keep(Sync sync) {
    if (m_through) return copyThrough();
    const bool always = sync == Sync::Always;
    if (!(always || m_exists ? m_scratch->sync() : m_scratch->flush())) refuse(errno);
    if (!m_scratch->moveTo(m_target)) refuse(errno);
    if (always && !syncFolder(m_folder)) refuse(errno);
}

void PendingFile::copyThrough() const {
    std::cout.flush();
    const int file = m_stream >= 0 ? m_stream : open(m_target.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    const bool written = file >= 0 && m_scratch->copyTo(file);
    const int reason = errno;
    const bool closed = file < 0 || file == m_stream || close(file) == 0 || errno == EINTR;
    if (!written || !closed) refuse(written ? errno : reason);
}

}  // namespace mpm

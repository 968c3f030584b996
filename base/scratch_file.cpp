#include "base/pending_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <set>

namespace mpm {
namespace {

constexpr std::string_view kBegin = ".mpm-", kEnd = ".part", kDigits = "0123456789abcdef";
constexpr size_t kRandom = 8;            // bytes
constexpr std::time_t kAbandoned = 600;  // seconds since the last write. A file without a lock may still be
                                         // in use: other code may have replaced the locked file

/// Returns an unpredictable name; empty if the system has no random numbers.
std::string hiddenName() {
    std::array<unsigned char, kRandom> random{};
    if (getentropy(random.data(), random.size()) != 0) return {};
    std::string name(kBegin);
    for (const unsigned char byte : random)
        for (const int digit : {byte >> 4, byte & 15})
            name += kDigits[static_cast<size_t>(digit)];
    return name.append(kEnd);
}

bool isHiddenName(std::string_view name) {
    if (name.size() != kBegin.size() + 2 * kRandom + kEnd.size()) return false;
    const std::string_view digits = name.substr(kBegin.size(), 2 * kRandom);
    return name.substr(0, kBegin.size()) == kBegin && name.substr(name.size() - kEnd.size()) == kEnd &&
           digits.find_first_not_of(kDigits) == std::string_view::npos;
}

std::string orHere(const std::string& folder) {
    return folder.empty() ? "." : folder;
}

/// Closes `file` and keeps the errno of an earlier failure.
void closeQuietly(int file) {
    const int reason = errno;
    close(file);
    errno = reason;
}

void removeIfAbandoned(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return;
    struct stat there {};
    const bool ours = fstat(file, &there) == 0 && S_ISREG(there.st_mode) && there.st_uid == geteuid() &&
                      there.st_mtime < std::time(nullptr) - kAbandoned;
    if (ours && flock(file, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
    close(file);
}

/// Removes files that killed programs left in a folder. Lists each folder only once per process, because
/// listing for each new file would be slow in a folder with thousands of images. Keeps files that cannot be
/// opened.
void removeAbandoned(const std::string& folder) {
    static std::mutex mutex;
    static std::set<std::string> seen;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!seen.insert(folder).second) return;
    }
    // Avoids std::filesystem's iterator, which ends the program if an allocation fails.
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    while (const dirent* entry = entries ? readdir(entries.get()) : nullptr)
        if (isHiddenName(entry->d_name)) removeIfAbandoned(folder + '/' + entry->d_name);
}

}  // namespace

bool writeAll(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

bool syncFile(int file) {
    while (fsync(file) != 0) {
        if (errno == EINTR) continue;
        return errno == EINVAL || errno == EROFS || errno == ENOTSUP;
    }
    return true;
}

bool syncFolder(const std::string& folder) {
    const int file = open(orHere(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return errno == EACCES;
    const bool synced = syncFile(file);
    closeQuietly(file);
    return synced;
}

ScratchFile::ScratchFile(const std::string& folder, Access access) {
    removeAbandoned(orHere(folder));
    while (!create(orHere(folder), access)) {
    }
}

/// Returns false if another process removed the file before it was locked; the caller then tries again.
bool ScratchFile::create(const std::string& folder, Access access) {
    const std::string name = hiddenName();
    if (name.empty()) return true;
    m_path = folder + '/' + name;
    // Lets the system apply the umask: a program cannot read the umask without changing it.
    m_descriptor = open(m_path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                        access == Access::Owner ? 0600 : 0666);
    if (m_descriptor < 0) m_path.clear();
    struct stat there {};
    if (m_descriptor < 0 || flock(m_descriptor, LOCK_EX | LOCK_NB) != 0)
        return true;  // a file without a lock is used too, because some file systems have no locks
    if (fstat(m_descriptor, &there) != 0 || there.st_nlink > 0) return true;
    close(m_descriptor);
    return false;
}

ScratchFile::~ScratchFile() {
    if (!m_path.empty()) unlink(m_path.c_str());
    if (m_descriptor >= 0) close(m_descriptor);
}

bool ScratchFile::setMode(unsigned mode) const {
    return fchmod(m_descriptor, mode) == 0;
}

bool ScratchFile::write(std::string_view bytes) const {
    return writeAll(m_descriptor, bytes);
}

/// Duplicates the descriptor and closes the copy, because network file systems report a full disk only when a
/// descriptor is closed.
bool ScratchFile::flush() const {
    const int second = fcntl(m_descriptor, F_DUPFD_CLOEXEC, 0);
    return second >= 0 && (close(second) == 0 || errno == EINTR);
}

/// Opens the file by its path, because m_descriptor is the old file if other code has replaced the file.
bool ScratchFile::sync() const {
    const int file = open(m_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return false;
    const bool synced = syncFile(file);
    closeQuietly(file);
    return synced;
}

bool ScratchFile::copyTo(int file) const {
    const int from = open(m_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (from < 0) return false;
    std::array<char, 65536> part{};
    ssize_t count = 0;
    do {
        count = read(from, part.data(), part.size());
    } while ((count > 0 && writeAll(file, {part.data(), static_cast<size_t>(count)})) ||
             (count < 0 && errno == EINTR));
    closeQuietly(from);
    return count == 0;
}

bool ScratchFile::moveTo(const std::string& target) {
    if (std::rename(m_path.c_str(), target.c_str()) != 0) return false;
    m_path.clear();
    return true;
}

}  // namespace mpm

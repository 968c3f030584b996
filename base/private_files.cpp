#include "base/private_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include <opencv2/core.hpp>

namespace fs = std::filesystem;

namespace mpm {

namespace {

[[noreturn]] void failTo(const std::string& path, const char* action, int reason) {
    CV_Error(cv::Error::StsError, path + ": cannot be " + action + " (" + std::strerror(reason) + ")");
}

mode_t g_maskBefore = 022;
bool g_masked = false;

}  // namespace

void createFilesPrivately() {
    g_maskBefore = umask(077);
    g_masked = true;
}

void restoreFileMode() noexcept {
    if (g_masked) umask(g_maskBefore);
}

void tightenOwn(const std::string& path) {
    // Uses O_PATH, because closing a descriptor without this flag would drop all locks (fcntl) that this
    // process has on the file.
    const int file = open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return;
    struct stat there {};
    const bool ours = fstat(file, &there) == 0 && (S_ISREG(there.st_mode) || S_ISDIR(there.st_mode)) &&
                      there.st_uid == geteuid();
    if (ours && (there.st_mode & 0077) != 0)
        static_cast<void>(chmod(("/proc/self/fd/" + std::to_string(file)).c_str(), there.st_mode & 07700));
    close(file);
}

int openPrivate(const std::string& path, int flags) {
    const int file =
        open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
    if (file < 0) failTo(path, "opened for writing", errno);  // also fails for a pipe without a reader
    struct stat there {};
    const bool ours = fstat(file, &there) == 0 && S_ISREG(there.st_mode) && there.st_uid == geteuid();
    if (ours && (there.st_mode & 0077) != 0) static_cast<void>(fchmod(file, there.st_mode & 07700));
    return file;
}

void makeFolders(const std::string& path, Access access) {
    const mode_t mode = access == Access::Owner ? 0700 : 0777;
    fs::path folder;
    for (const fs::path& part : fs::path(path)) {
        folder /= part;
        if (folder.empty() || mkdir(folder.c_str(), mode) == 0) continue;
        const int reason = errno;
        std::error_code error;
        if (!fs::is_directory(folder, error)) failTo(path, "made a folder", reason);
    }
}

void writeAtomically(const std::string& path, std::string_view bytes, Access access) {
    PendingFile file(path, access);
    file.write(bytes);
    file.keep();
}

namespace {

constexpr const char* kWorkPrefix = ".work-";

/// Opens and locks a folder. Returns -1 if that fails, for example because another process has the lock.
int lockFolder(const fs::path& folder) {
    const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0) return file;
    close(file);
    return -1;
}

void removeAbandonedFolders(const fs::path& beside) {
    constexpr int kYoung = 60;  // seconds; a younger folder may not be locked yet
    // If listing fails halfway, a later WorkFolder removes the remaining folders.
    std::error_code error;
    for (fs::directory_iterator at(beside, error), end; !error && at != end; at.increment(error)) {
        struct stat about {};
        if (at->path().filename().string().rfind(kWorkPrefix, 0) != 0 ||
            lstat(at->path().c_str(), &about) != 0 || about.st_mtime > std::time(nullptr) - kYoung)
            continue;
        const int file = lockFolder(at->path());
        if (file < 0) continue;
        std::error_code ignored;
        fs::remove_all(at->path(), ignored);
        close(file);
    }
}

}  // namespace

WorkFolder::WorkFolder(const std::string& beside) {
    makePrivateFolders(beside);
    removeAbandonedFolders(beside);
    std::string name = (fs::path(beside) / (std::string(kWorkPrefix) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) failTo(beside, "written", errno);
    m_path = name;
    m_lock = lockFolder(m_path);
}

WorkFolder::~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
    if (m_lock >= 0) close(m_lock);
}

}  // namespace mpm

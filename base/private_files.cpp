#include "base/private_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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
    // O_PATH: closing the descriptor does not drop the locks that this process holds on the file.
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
    if (file < 0) failTo(path, "opened for writing", errno);  // a pipe without a reader, too
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

}  // namespace mpm

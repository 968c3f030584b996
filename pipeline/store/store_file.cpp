// The file of the store: makes it private, rejects links, and renames a damaged file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>

#include "base/private_files.hpp"
#include "pipeline/store/database.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

constexpr const char* kBeside[] = {"-wal", "-shm"};

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
    throw StoreError(StoreError::Kind::CannotOpen, path + ": cannot be opened as a store (" + reason +
                                                       "); check that the folder exists and may be written");
}

bool statusOf(const std::string& path, struct stat& there) {
    return lstat(path.c_str(), &there) == 0;
}

FileId idOf(const struct stat& there) {
    return {static_cast<std::uint64_t>(there.st_dev), static_cast<std::uint64_t>(there.st_ino)};
}

/// Returns an unused name such as FILE.damaged-20260131-235959, with a number if that name is taken.
std::string asideName(const std::string& path, const char* why) {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char time[32];
    std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &utc);
    std::string name = path + why + time;
    struct stat there {};
    for (int i = 2; statusOf(name, there); ++i)
        name = path + why + time + "-" + std::to_string(i);
    return name;
}

/// Renames a file. Fails if `to` exists. If the file system cannot check whether `to` exists, replaces `to`.
bool moveTo(const std::string& from, const std::string& to) {
    return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ||
           (errno == EINVAL && std::rename(from.c_str(), to.c_str()) == 0);
}

}  // namespace

std::string withoutLinks(const std::string& path) {
    std::error_code error;
    const fs::path whole(path);
    const fs::path folder =
        fs::canonical(whole.has_parent_path() ? whole.parent_path() : fs::path("."), error);
    return error ? path : (folder / whole.filename()).string();
}

FileId prepareFile(const std::string& path) {
    // Does not open an existing file: if SQLite has the file open, close() would release SQLite's locks.
    const int made = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (made >= 0) close(made);
    if (made < 0 && errno != EEXIST) refuse(path, std::strerror(errno));
    struct stat there {};
    if (!statusOf(path, there)) refuse(path, std::strerror(errno));
    if (S_ISLNK(there.st_mode)) refuse(path, "a symbolic link");
    if (!S_ISREG(there.st_mode)) refuse(path, "not a file");
    tightenOwn(path);
    for (const char* beside : kBeside)
        tightenOwn(path + beside);
    return idOf(there);
}

bool Store::Database::moved() const {
    struct stat there {};
    return !statusOf(m_path, there) || !(idOf(there) == m_file);
}

bool Store::moved() const {
    return m_database->moved();
}

std::string Store::setAside(const std::string& path) {
    const char* why = ".damaged-";
    static std::mutex mutex;  // several stores of this program may find the same damage
    const std::lock_guard<std::mutex> lock(mutex);
    try {
        Store(path).check();
        return {};  // another store has already replaced the file
    } catch (const StoreError& error) {
        if (error.kind() == StoreError::Kind::OlderSchema)
            why = ".old-";
        else if (error.kind() != StoreError::Kind::Damaged)
            throw;
    }
    const std::string file = withoutLinks(path), aside = asideName(file, why);
    // Renames the log first, because SQLite would use an old log with the new file.
    for (const char* beside : kBeside) {
        struct stat there {};
        if (statusOf(file + beside, there) && !moveTo(file + beside, aside + beside))
            refuse(file + beside, std::strerror(errno));
    }
    if (!moveTo(file, aside)) refuse(file, std::strerror(errno));
    return aside;
}

}  // namespace mpm::pipeline

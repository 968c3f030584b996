// Creates files and folders, most of them readable only by their owner. Failures throw cv::Exception that
// names the path and the reason.
#pragma once

#include <string>
#include <string_view>

#include "base/pending_file.hpp"

namespace mpm {

/// Opens `path` for writing, with O_CLOEXEC and O_NOFOLLOW; creates it as 0600 if it does not exist. `flags`
/// are further flags of open(2): O_TRUNC, O_APPEND, O_EXCL. If the file exists and the user owns it, other
/// users lose all rights to it. Returns the descriptor.
int openPrivate(const std::string& path, int flags);

/// Makes this process and its libraries create files as 0600 and folders as 0700. Call it once, before there
/// are threads.
void createFilesPrivately();

/// Restores the umask that createFilesPrivately() changed, for a program that this process starts. Safe
/// between fork() and exec().
void restoreFileMode() noexcept;

/// If `path` is a file or folder of this user, removes all rights of other users. Ignores failures. Does not
/// follow a link, and does not open the file for reading or writing.
void tightenOwn(const std::string& path);

/// Creates the folder and its parents, each with the mode of `access`.
void makeFolders(const std::string& path, Access access);

inline void makePrivateFolders(const std::string& path) {
    makeFolders(path, Access::Owner);
}

/// Atomically replaces `path` with a file of these bytes: temporary file, sync, rename.
void writeAtomically(const std::string& path, std::string_view bytes, Access access = Access::Owner);

/// A temporary folder (0700) for the files of a task, next to the task's result. The destructor removes the
/// folder. The folder is locked while in use, so a later WorkFolder in the same place removes only folders
/// that killed programs left.
class WorkFolder {
public:
    /// Creates the temporary folder in the folder `beside`, and creates `beside` if it does not exist.
    explicit WorkFolder(const std::string& beside);
    ~WorkFolder();
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;

    const std::string& path() const { return m_path; }

private:
    std::string m_path;
    int m_lock = -1;
};

}  // namespace mpm

// Files and folders that only their owner may read, and others.
#pragma once

#include <string>
#include <string_view>

#include "base/pending_file.hpp"

namespace mpm {

/// Opens `path` for writing, created as 0600 if it does not exist; with O_CLOEXEC and O_NOFOLLOW. `flags` are
/// further flags of open(2): O_TRUNC, O_APPEND, O_EXCL. A file of the user that others may read becomes 0600.
/// Returns the descriptor; throws cv::Exception that names the path and the reason.
int openPrivate(const std::string& path, int flags);

/// From now on libraries too create files as 0600 and folders as 0700. Call it once, before there are
/// threads.
void createFilesPrivately();

/// Restores the state before createFilesPrivately(): for a program started from here. Safe between fork() and
/// exec().
void restoreFileMode() noexcept;

/// Removes the rights of other users from a file or folder of the user, if it exists. It neither follows a
/// link nor opens the file.
void tightenOwn(const std::string& path);

/// Creates the folder and its parents, each with the mode of `access`. Throws cv::Exception that names the
/// path and the reason.
void makeFolders(const std::string& path, Access access);

inline void makePrivateFolders(const std::string& path) {
    makeFolders(path, Access::Owner);
}

/// Replaces `path` atomically by a file of these bytes: temporary file, sync, rename. Throws
/// cv::Exception that names the path and the reason.
void writeAtomically(const std::string& path, std::string_view bytes, Access access = Access::Owner);

/// A folder for the files of a task, beside its result: 0700, removed with the object. It is locked while in
/// use: the next one in the same place removes those that killed programs left.
class WorkFolder {
public:
    /// Makes `beside`, too. Throws cv::Exception that names the path and the reason.
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

// Files and folders that only their owner may read.
#pragma once

#include <string>
#include <string_view>

namespace mpm {

/// Opens `path` for writing, created as 0600 where it is not there; with O_CLOEXEC and O_NOFOLLOW. `flags`
/// are those of open(2) beside these: O_TRUNC, O_APPEND, O_EXCL. A file of the user's own that others may
/// read becomes 0600. Returns the descriptor; throws cv::Exception that names the path and the reason.
int openPrivate(const std::string& path, int flags);

/// From now on files and folders are created as 0600 and 0700 by libraries too. Once, before there are
/// threads.
void createFilesPrivately();

/// As it was before createFilesPrivately(): for a program started from here. Safe between fork() and exec().
void restoreFileMode() noexcept;

/// Takes the rights of others from a file or folder of the user's own, if it is there. Neither follows a link
/// nor opens the file.
void tightenOwn(const std::string& path);

/// Makes the folder and those above it; each that is made is 0700. Throws cv::Exception that names the path
/// and the reason.
void makePrivateFolders(const std::string& path);

/// Replaces `path` by a file of these bytes, or leaves it as it is: written aside, synced, renamed. Throws
/// cv::Exception that names the path and the reason.
void writeAtomically(const std::string& path, std::string_view bytes);

}  // namespace mpm

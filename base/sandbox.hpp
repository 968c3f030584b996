// The sandbox for reading untrusted files. Before a process reads such a file, it permanently gives up all
// rights that its task does not need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpm {

/// The rights that the process keeps. enterSandbox() removes all others, such as the rights to open sockets,
/// start programs or signal other processes.
struct Sandbox {
    std::vector<std::string> readable;  ///< files, and folders with their content
    std::vector<std::string>
        writable;               ///< folders: files in them may be created, written, renamed and removed
    std::int64_t memory = 0;    ///< bytes of address space that the process may add; 0: no limit
    double seconds = 0;         ///< processor time of all threads together; 0: no limit
    std::int64_t fileSize = 0;  ///< largest size of a written file in bytes; 0: no limit
    bool landlock = true;       ///< whether Landlock restricts files; false only in tests
    bool filter = true;         ///< whether a filter restricts system calls; false only in tests
};

/// Sets the resource limits, forbids core dumps and new privileges, then enters Landlock and a filter of
/// system calls if the kernel has them. Call it before there are other threads, because Landlock does not
/// cover running threads. Returns a line with the reason for each missing protection; throws cv::Exception if
/// a limit cannot be set, or if privileges cannot be given up.
std::vector<std::string> enterSandbox(const Sandbox& sandbox);

/// Describes the kernel's support in a line: "Landlock 4, system call filter, resource limits".
std::string sandboxSupport();

/// Lists up to 4096 files and folders in a folder. Leaves out links, and names that begin with a dot. The
/// list is empty if the folder cannot be opened. Throws cv::Exception if listing fails halfway.
std::vector<std::string> visibleEntries(const std::string& folder);

namespace detail {

/// enterLandlock() and enterCallFilter() return the reason for a failure, or an empty string after success.
std::string enterLandlock(const Sandbox& sandbox);
std::string enterCallFilter();
/// Returns 0 if the kernel has no Landlock.
int landlockVersion();
bool hasCallFilter();

}  // namespace detail

}  // namespace mpm

// A process gives up, for the rest of its life, all rights that its task does not need, before it reads an
// untrusted file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpm {

/// The rights that the process keeps. Sockets, programs, other processes and everything else are lost with
/// enterSandbox().
struct Sandbox {
    std::vector<std::string> readable;  ///< files, and folders with their content
    std::vector<std::string>
        writable;               ///< folders: files in them may be created, written, renamed and removed
    std::int64_t memory = 0;    ///< bytes of address space on top of the present ones; 0: no limit
    double seconds = 0;         ///< of processor time, threads added up; 0: no limit
    std::int64_t fileSize = 0;  ///< bytes of a written file; 0: no limit
    bool landlock = true;       ///< files by Landlock; tests leave it out
    bool filter = true;         ///< system calls by seccomp; tests leave it out
};

/// Enters the sandbox: resource limits, no core dumps, no new privileges; then Landlock and a filter of
/// system calls if the kernel has them. The filter also covers running threads, Landlock does not: call this
/// before there are any. Returns a line per missing protection with the reason; empty: none is missing. The
/// limits always hold: throws cv::Exception if a limit cannot be set.
std::vector<std::string> enterSandbox(const Sandbox& sandbox);

/// The kernel's support, in a single line: "Landlock 4, system call filter".
std::string sandboxSupport();

/// The entries of a folder, with the content of folders in it, whose names do not begin with a dot. Links are
/// skipped. Empty for a folder that cannot be opened; throws cv::Exception if listing fails halfway.
std::vector<std::string> visibleEntries(const std::string& folder);

namespace detail {

/// Why it could not be entered; empty: success.
std::string enterLandlock(const Sandbox& sandbox);
std::string enterCallFilter();
/// 0: the kernel has none.
int landlockVersion();
bool hasCallFilter();

}  // namespace detail

}  // namespace mpm

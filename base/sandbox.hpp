// Gives up, for the rest of the process's life, what its one task does not need: before it reads a file that
// nobody vouches for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpm {

/// What the process may still use. Sockets, programs, other processes and everything else are lost with
/// enterSandbox().
struct Sandbox {
    std::vector<std::string> readable;  ///< files, and folders with all below
    std::vector<std::string> writable;  ///< folders: files in them may be made, written, renamed and removed
    std::int64_t memory = 0;            ///< bytes of address space on top of the present ones; 0: no limit
    double seconds = 0;                 ///< of processor time, threads added up; 0: no limit
    std::int64_t fileSize = 0;          ///< bytes of a written file; 0: no limit
    bool landlock = true;               ///< files by Landlock; tests leave it out
    bool filter = true;                 ///< system calls by seccomp; tests leave it out
};

/// Enters it: resource limits, no core dumps, no new privileges; then Landlock and a filter of system calls
/// where the kernel has them. Threads that run already are held by the filter, but not by Landlock: call it
/// before there are any. Returns what is missing and why, a line each; empty: nothing. The limits hold in
/// any case: throws cv::Exception where one cannot be set.
std::vector<std::string> enterSandbox(const Sandbox& sandbox);

/// What the kernel offers, in a line: "Landlock 4, system call filter".
std::string sandboxSupport();

/// The files of a folder, and its folders with all below, whose names do not begin with a dot. Links are left
/// out.
std::vector<std::string> visibleEntries(const std::string& folder);

namespace detail {

/// Why it could not be entered; empty: it was.
std::string enterLandlock(const Sandbox& sandbox);
std::string enterCallFilter();
/// 0: the kernel has none.
int landlockVersion();
bool hasCallFilter();

}  // namespace detail

}  // namespace mpm

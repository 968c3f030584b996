// Landlock, the kernel's restriction of file access. This file declares the kernel's interface, because
// Debian 12's header is older than many kernels, and some systems have no header.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/sandbox.hpp"

namespace mpm::detail {

namespace {

// The numbers of the system calls, which are the same on every processor.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;

enum Right : std::uint64_t {
    WriteFile = 1 << 1,
    ReadFile = 1 << 2,
    ReadFolder = 1 << 3,
    RemoveFile = 1 << 5,
    MakeFile = 1 << 8,
    Truncate = 1 << 14,  // since version 3
};

struct Ruleset {
    std::uint64_t files;
    std::uint64_t network;  // since version 4
    std::uint64_t scopes;   // since version 6
};

struct [[gnu::packed]] PathRule {
    std::uint64_t allowed;
    std::int32_t folder;
};

/// Returns all rights that this version of Landlock can restrict. Landlock denies each of these rights unless
/// a rule allows the right.
Ruleset rulesetOf(int version) {
    const int rights = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
    return {(std::uint64_t{1} << rights) - 1,
            version >= 4 ? 3U : 0U,   // binding and connecting TCP sockets
            version >= 6 ? 3U : 0U};  // abstract Unix sockets and signals outside the sandbox
}

size_t sizeOf(int version) {
    return sizeof(std::uint64_t) * (version >= 6 ? 3 : version >= 4 ? 2 : 1);
}

/// Adds a rule that allows `rights` for `path`. If the path does not exist, no rule is needed.
bool allow(int ruleset, const std::string& path, std::uint64_t rights) {
    const int file = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (file < 0) return true;
    struct stat there {};
    const bool isFolder = fstat(file, &there) == 0 && S_ISDIR(there.st_mode);
    PathRule rule{isFolder ? rights : rights & (WriteFile | ReadFile | Truncate), file};
    const bool added = syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0;
    const int reason = errno;
    close(file);
    errno = reason;
    return added;
}

bool restrictTo(const Sandbox& sandbox, int ruleset, const Ruleset& handled) {
    constexpr std::uint64_t kRead = ReadFile | ReadFolder;
    const std::uint64_t write = (kRead | WriteFile | RemoveFile | MakeFile | Truncate) & handled.files;
    for (const std::string& path : sandbox.readable)
        if (!allow(ruleset, path, kRead)) return false;
    for (const std::string& path : sandbox.writable)
        if (!allow(ruleset, path, write)) return false;
    return syscall(kRestrictSelf, ruleset, 0) == 0;
}

}  // namespace

int landlockVersion() {
    const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
    return version > 0 ? static_cast<int>(version) : 0;
}

std::string enterLandlock(const Sandbox& sandbox) {
    const int version = landlockVersion();
    if (version == 0) return std::string("the kernel does not offer it (") + std::strerror(errno) + ")";
    const Ruleset handled = rulesetOf(version);
    const auto ruleset = static_cast<int>(syscall(kCreateRuleset, &handled, sizeOf(version), 0));
    const bool entered = ruleset >= 0 && restrictTo(sandbox, ruleset, handled);
    const std::string reason = entered ? "" : std::strerror(errno);
    if (ruleset >= 0) close(ruleset);
    return reason;
}

}  // namespace mpm::detail

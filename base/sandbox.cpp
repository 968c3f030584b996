#include "base/sandbox.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include <opencv2/core.hpp>

#include "base/memory_use.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // no memory limit: shadow memory takes terabytes of address space
#else
constexpr bool kSanitized = false;
#endif

namespace fs = std::filesystem;

namespace mpm {

namespace {

constexpr std::int64_t kThreadBytes = 24 << 20;  // a thread's stack, and its share of the allocator's arenas
constexpr rlim_t kDescriptors = 256;
constexpr size_t kMostEntries = 4096;

void limit(decltype(RLIMIT_AS) kind, const char* name, rlim_t wanted, rlim_t reserve = 0) {
    rlimit now{};
    getrlimit(kind, &now);
    const rlim_t most =
        now.rlim_max == RLIM_INFINITY ? wanted + reserve : std::min(now.rlim_max, wanted + reserve);
    const rlimit changed{std::min(wanted, most), most};
    if (setrlimit(kind, &changed) != 0)
        CV_Error(cv::Error::StsError,
                 std::string("the limit ") + name + " cannot be set (" + std::strerror(errno) + ")");
}

void setLimits(const Sandbox& sandbox) {
    limit(RLIMIT_CORE, "RLIMIT_CORE", 0);
    limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", kDescriptors);
    if (sandbox.fileSize > 0) limit(RLIMIT_FSIZE, "RLIMIT_FSIZE", static_cast<rlim_t>(sandbox.fileSize));
    // At the limit, SIGXCPU ends the process, so the exit status shows the cause. If SIGXCPU does not
    // end the process, SIGKILL follows after 2 s.
    if (sandbox.seconds > 0)
        limit(RLIMIT_CPU, "RLIMIT_CPU", static_cast<rlim_t>(std::max(1.0, std::ceil(sandbox.seconds))), 2);
    if (sandbox.memory <= 0 || kSanitized) return;
    const auto threads = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
    limit(RLIMIT_AS, "RLIMIT_AS",
          static_cast<rlim_t>(memoryUse().addressSpace) + static_cast<rlim_t>(threads * kThreadBytes) +
              static_cast<rlim_t>(sandbox.memory));
}

}  // namespace

std::vector<std::string> enterSandbox(const Sandbox& sandbox) {
    setLimits(sandbox);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        CV_Error(cv::Error::StsError,
                 std::string("privileges cannot be given up (") + std::strerror(errno) + ")");
    std::vector<std::string> missing;
    const std::string files = sandbox.landlock ? detail::enterLandlock(sandbox) : "left out";
    if (!files.empty()) missing.push_back("Landlock: " + files);
    const std::string calls = sandbox.filter ? detail::enterCallFilter() : "left out";
    if (!calls.empty()) missing.push_back("system call filter: " + calls);
    return missing;
}

std::string sandboxSupport() {
    const int version = detail::landlockVersion();
    return (version > 0 ? "Landlock " + std::to_string(version) : "no Landlock (files are not held back)") +
           (detail::hasCallFilter() ? ", system call filter" : ", no system call filter") +
           ", resource limits";
}

std::vector<std::string> visibleEntries(const std::string& folder) {
    std::vector<std::string> entries;
    std::error_code error, unknown;
    fs::directory_iterator at(folder, error);
    if (error) return entries;
    for (const fs::directory_iterator end; at != end && entries.size() < kMostEntries;) {
        const bool hidden = at->path().filename().string().front() == '.';
        if (!hidden && !at->is_symlink(unknown) &&
            (at->is_regular_file(unknown) || at->is_directory(unknown)))
            entries.push_back(at->path().string());
        at.increment(error);
        if (error) CV_Error(cv::Error::StsError, folder + ": cannot be listed (" + error.message() + ")");
    }
    return entries;
}

}  // namespace mpm

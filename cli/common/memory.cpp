#include "cli/common/error.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "pipeline/image/read.hpp"

namespace mpm::cli {

namespace {

/// The bytes that are added to --max-memory, because libraries and threads need memory too.
constexpr std::int64_t kOwnBytes = 256 << 20;

std::int64_t g_most = 0;

/// Returns the size of this process's data in bytes, as RLIMIT_DATA counts it.
std::int64_t dataBytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::int64_t kibibytes = 0;
        if (word == "VmData:" && status >> kibibytes) return kibibytes * 1024;
    }
    return 0;
}

}  // namespace

void limitMemory(std::int64_t bytes) {
    g_most = bytes;
    pipeline::setMaxImageBytes(bytes);
    rlimit limit{};
    std::int64_t most = 0;
    if (bytes <= 0 || getrlimit(RLIMIT_DATA, &limit) != 0) return;
    if (__builtin_add_overflow(bytes, dataBytes() + kOwnBytes, &most)) return;
    limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(most));
    static_cast<void>(setrlimit(RLIMIT_DATA, &limit));
}

bool memoryIsLimited() {
    return g_most > 0;
}

std::string outOfMemory() {
    if (g_most <= 0) return "out of memory; use a smaller size or batch";
    return "more memory is needed than allowed (--max-memory " + std::to_string(g_most) +
           " bytes); raise --max-memory, or use a smaller size or batch";
}

}  // namespace mpm::cli

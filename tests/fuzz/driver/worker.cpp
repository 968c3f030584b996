#include "fuzz/driver/worker.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <limits>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

namespace mpm::fuzz {

namespace {

constexpr std::uint64_t kRunsBetweenLeakChecks = 20'000;  // a check takes some milliseconds
constexpr int kMostOpenFiles = 32;                        // more than libraries keep open

bool leaks() {
    return __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check() != 0;
}

/// Returns the smallest free descriptor, which grows if an input leaves a file open.
int freeDescriptor() {
    const int copy = fcntl(STDERR_FILENO, F_DUPFD, 0);
    if (copy >= 0) close(copy);
    return copy >= 0 ? copy : std::numeric_limits<int>::max();
}

}  // namespace

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processorSeconds(int process) {
    clockid_t clock = 0;
    timespec time{};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double peakMebibytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

int work(const Job& job, Progress& progress, const Limits& limits) {
    const int firstFree = freeDescriptor();
    for (std::uint64_t since = 0; progress.position < limits.end; ++progress.position) {
        const Input input = inputAt(progress.position, job.seeds);
        const double start = now();
        const double startCpu = processorSeconds();
        if (start >= limits.deadline || startCpu >= limits.seconds) break;
        progress.startedCpu = startCpu;
        progress.started = start;
        LLVMFuzzerTestOneInput(input.bytes.data(), input.bytes.size());
        const double spent = processorSeconds() - startCpu;
        progress.started = 0;
        ++progress.runs;
        if (spent > progress.slowest)
            progress.slowest = spent, progress.slowestPosition = progress.position.load();
        progress.peak = peakMebibytes();
        if (progress.peak > job.mebibytes) {
            std::fprintf(stderr, "more than %.0f MiB\n", job.mebibytes);
            return Progress::kTooMuchMemory;
        }
        if (freeDescriptor() - firstFree > kMostOpenFiles) return Progress::kOpenFiles;
        if (++since % kRunsBetweenLeakChecks == 0 && leaks()) return Progress::kLeak;
    }
    return leaks() ? Progress::kLeak : 0;
}

}  // namespace mpm::fuzz

// The process that runs inputs. It may crash, hang or grow: the supervisor then continues with another.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "fuzz/driver/job.hpp"

namespace mpm::fuzz {

/// Shared with the supervisor, to show which input ended a worker; no system call for each input.
struct Progress {
    std::atomic<std::uint64_t> position{0};
    std::atomic<std::uint64_t> runs{0};
    std::atomic<double> started{0};     // by now(); 0 between inputs
    std::atomic<double> startedCpu{0};  // by processorSeconds()
    std::atomic<double> slowest{0};
    std::atomic<std::uint64_t> slowestPosition{0};
    std::atomic<double> peak{0};

    /// Exit statuses of a worker beside 0.
    static constexpr int kTooMuchMemory = 90, kLeak = 91, kOpenFiles = 92;
};

/// Seconds of a clock that all processes share.
double now();
/// Seconds of processor time of a process (0: this one), which no busy machine lengthens.
double processorSeconds(int process = 0);
double peakMebibytes();

/// A worker stops at the first limit that it reaches.
struct Limits {
    std::uint64_t end = std::numeric_limits<std::uint64_t>::max();  ///< a position
    double deadline = std::numeric_limits<double>::infinity();      ///< by now()
    double seconds = std::numeric_limits<double>::infinity();       ///< of processor time
};

/// Runs inputs from progress.position on; returns the exit status.
int work(const Job& job, Progress& progress, const Limits& limits);

}  // namespace mpm::fuzz

// The process that runs inputs. If it crashes, hangs or takes too much memory, the supervisor starts another.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "fuzz/driver/job.hpp"

namespace mpm::fuzz {

/// The worker writes its progress to memory that the supervisor shares, so the supervisor can find the input
/// that ended a worker. The worker needs no system call for each input.
struct Progress {
    std::atomic<std::uint64_t> position{0};
    std::atomic<std::uint64_t> runs{0};
    std::atomic<double> started{0};     // time of now(); 0 between inputs
    std::atomic<double> startedCpu{0};  // time of processorSeconds()
    std::atomic<double> slowest{0};
    std::atomic<std::uint64_t> slowestPosition{0};
    std::atomic<double> peak{0};

    /// Exit statuses of a worker in addition to 0.
    static constexpr int kTooMuchMemory = 90, kLeak = 91, kOpenFiles = 92;
};

/// Returns the seconds of a clock that is the same for all processes.
double now();
/// Returns the seconds of processor time that a process (0: this process) has used.
double processorSeconds(int process = 0);
double peakMebibytes();

/// A worker stops at the first limit that it reaches.
struct Limits {
    std::uint64_t end = std::numeric_limits<std::uint64_t>::max();  ///< a position
    double deadline = std::numeric_limits<double>::infinity();      ///< a time of now()
    double seconds = std::numeric_limits<double>::infinity();       ///< of processor time
};

/// Runs inputs from progress.position on; returns the exit status.
int work(const Job& job, Progress& progress, const Limits& limits);

}  // namespace mpm::fuzz

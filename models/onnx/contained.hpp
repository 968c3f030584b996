// Converts an untrusted model in a child process: with limits, in a sandbox, and stoppable at any time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/child_process.hpp"
#include "base/sandbox.hpp"

namespace mpm::models {

struct ContainedLimits {
    std::int64_t memory = 0;  ///< bytes; 0: three quarters of the machine's memory
    double seconds = 1800;    ///< wall clock time; processor time: as much for each processor
    bool landlock = true;     ///< only tests turn off landlock and filter
    bool filter = true;
};

struct Contained {
    enum class End {
        Done,
        Refused,      ///< the model cannot be converted
        Failed,       ///< the child could not start, or crashed
        OutOfMemory,  ///< memory limit
        OutOfTime,
        TooLarge,  ///< file size limit
        Stopped    ///< by stop()
    };
    End end = End::Failed;
    std::string message;               ///< a line in English, safe to print; empty for the limits
    std::vector<std::string> missing;  ///< unsupported parts of the sandbox, a line each, safe to print
};

class ContainedConversion {
public:
    /// `program` starts with `if (isContainedCall(argc, argv)) return containedMain(argc, argv);`.
    explicit ContainedConversion(std::string program = "/proc/self/exe", ContainedLimits limits = {});

    /// Writes `output` and creates its folders; blocks. The child writes to a separate folder next to
    /// `output`, which is replaced atomically. Call this function once.
    Contained run(const std::string& input, const std::string& output);
    /// Stops the conversion at once, from any thread.
    void stop() { m_child.stop(); }

    const ContainedLimits& limits() const { return m_limits; }

private:
    const std::string m_program;
    ContainedLimits m_limits;
    ChildProcess m_child;
};

/// Returns the sandbox, without limits, of a process that only converts `input`: the process may read the
/// model, the files next to it and the system's libraries, and write to `folder`.
Sandbox conversionSandbox(const std::string& input, const std::string& folder);

/// Whether the program was started by ContainedConversion.
bool isContainedCall(int argc, char** argv);
/// Runs the whole program if isContainedCall(). Returns the exit status.
int containedMain(int argc, char** argv);

constexpr const char* kContainedVerb = "--contained-conversion";
constexpr const char* kWithoutLandlock = "without-landlock";
constexpr const char* kWithoutFilter = "without-filter";

/// Every line of the child begins with one of these words.
constexpr const char* kMissingWord = "missing";
constexpr const char* kMessageWord = "message";

/// The child's exit statuses.
constexpr int kContainedDone = 0, kContainedFailed = 1, kContainedRefused = 3, kContainedMemory = 4;

}  // namespace mpm::models

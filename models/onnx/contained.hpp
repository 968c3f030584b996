// The conversion of an untrusted model in a child process, with limits and a sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/child_process.hpp"
#include "base/sandbox.hpp"

namespace mpm::models {

struct ContainedLimits {
    std::int64_t memory = 0;  ///< bytes; 0: three quarters of the machine's memory
    double seconds = 1800;    ///< wall-clock limit; the limit of processor time is `seconds` x processors
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
    std::string message;               ///< how the conversion ended: a line in English, safe to print
    std::vector<std::string> missing;  ///< parts of the sandbox that this system lacks: lines safe to print
};

class ContainedConversion {
public:
    /// The main() of `program` must begin with
    /// `if (isContainedCall(argc, argv)) return containedMain(argc, argv);`.
    explicit ContainedConversion(std::string program = "/proc/self/exe", ContainedLimits limits = {});

    /// Converts `input`, and returns when the child has ended. Must be called only once. Creates the folders
    /// of `output`. The child writes to a folder next to `output`. If the conversion succeeds, `output` is
    /// replaced atomically.
    Contained run(const std::string& input, const std::string& output);
    /// Stops the conversion immediately. May be called from any thread.
    void stop() { m_child.stop(); }

    const ContainedLimits& limits() const { return m_limits; }

private:
    const std::string m_program;
    ContainedLimits m_limits;
    ChildProcess m_child;
};

/// Returns the sandbox of a process that only converts `input`. Does not set the limits of memory, time and
/// file size. The process may read the model, the files next to it and the system's libraries, and write to
/// `folder`.
Sandbox conversionSandbox(const std::string& input, const std::string& folder);

/// Returns whether ContainedConversion started the program.
bool isContainedCall(int argc, char** argv);
/// Does the work of the child process, and ends the process. Returns an exit status only if the sandbox
/// fails. Must be called only if isContainedCall() is true.
int containedMain(int argc, char** argv);

constexpr const char* kContainedVerb = "--contained-conversion";
constexpr const char* kWithoutLandlock = "without-landlock";
constexpr const char* kWithoutFilter = "without-filter";

/// Each line that the child prints begins with one of these words.
constexpr const char* kMissingWord = "missing";
constexpr const char* kMessageWord = "message";

constexpr int kContainedDone = 0, kContainedFailed = 1, kContainedRefused = 3, kContainedMemory = 4;

}  // namespace mpm::models

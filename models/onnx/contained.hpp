// Converts a model that nobody vouches for in a child process: with limits, in a sandbox, ended at any
// moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/child_process.hpp"
#include "base/sandbox.hpp"

namespace mpm::models {

struct ContainedLimits {
    std::int64_t memory = 0;  ///< bytes; 0: three quarters of the machine's
    double seconds = 1800;    ///< by the clock; processor time is as much for each processor
    bool landlock = true;     ///< tests leave them out
    bool filter = true;
};

struct Contained {
    enum class End {
        Done,
        Refused,      ///< the model cannot be converted
        Failed,       ///< it could not be tried, or the child broke
        OutOfMemory,  ///< memory ended
        OutOfTime,
        TooLarge,  ///< what it wrote
        Stopped    ///< by stop()
    };
    End end = End::Failed;
    std::string message;               ///< one line that is safe to print, in English; empty for the limits
    std::vector<std::string> missing;  ///< what the kernel lacks of the sandbox, a line each, likewise
};

class ContainedConversion {
public:
    /// `program` starts with `if (isContainedCall(argc, argv)) return containedMain(argc, argv);`.
    explicit ContainedConversion(std::string program = "/proc/self/exe", ContainedLimits limits = {});

    /// Makes `output`, and the folders it lies in; blocks. What the child writes lands in a folder of its own
    /// beside it first, so an old file stays until a whole new one is there. Call it once.
    Contained run(const std::string& input, const std::string& output);
    /// Ends it at once, from any thread.
    void stop() { m_child.stop(); }

    const ContainedLimits& limits() const { return m_limits; }

private:
    const std::string m_program;
    ContainedLimits m_limits;
    ChildProcess m_child;
};

/// What a process may use that converts `input` and does nothing else: the model with what lies beside it,
/// the system's libraries, and `folder` to write to. Without limits.
Sandbox conversionSandbox(const std::string& input, const std::string& folder);

/// Whether the program was started by ContainedConversion.
bool isContainedCall(int argc, char** argv);
/// Then this is all it does. Returns its exit status.
int containedMain(int argc, char** argv);

}  // namespace mpm::models

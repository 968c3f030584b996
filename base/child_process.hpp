// A child process for a single task. The child inherits no open files, environment or signal handlers, and
// can be stopped at any time.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

namespace mpm {

struct ChildEnd {
    enum class How {
        Exited,      ///< number: the exit status
        Signalled,   ///< number: the signal
        Stopped,     ///< stop() has killed the child
        OutOfTime,   ///< ran longer than wait() allows
        NotStarted,  ///< number: errno
    };
    How how = How::NotStarted;
    int number = 0;
    std::string output;
};

class ChildProcess {
public:
    ChildProcess() = default;
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Starts `program` in a new session. The child gets only `environment`, the descriptors of /dev/null and
    /// of the pipe for the output, and default signal handlers. If the thread that called start() ends, the
    /// kernel kills the child. `withErrors` adds standard error to the output. Call start() only once.
    void start(const std::string& program, const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment, bool withErrors = false);
    /// Waits until the child ends, and kills the child after `seconds`. Must run on the thread that called
    /// start(). Keeps the first `most` bytes of output.
    ChildEnd wait(double seconds, std::size_t most = 4096);
    /// Kills the child and its process group, so that wait() soon returns. Any thread may call stop(); a call
    /// before start() prevents the start.
    void stop();

private:
    void signal(int number) const;
    bool ended(ChildEnd& end);

    std::mutex m_mutex;
    pid_t m_id = -1;  // guarded by m_mutex; -1: not started, or ended
    int m_output = -1, m_startError = 0;
    std::atomic<bool> m_stopped{false};
};

}  // namespace mpm

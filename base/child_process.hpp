// A program started for a single task. It inherits nothing and can be ended at any moment.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

namespace mpm {

/// How a child ended, and its output.
struct ChildEnd {
    enum class How {
        Exited,      ///< number: the exit status
        Signalled,   ///< number: the signal
        Stopped,     ///< by stop()
        OutOfTime,   ///< it took longer than wait() allows
        NotStarted,  ///< number: errno
    };
    How how = How::NotStarted;
    int number = 0;
    std::string output;
};

class ChildProcess {
public:
    ChildProcess() = default;
    /// Stops it.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Starts `program` in a new session with the given environment and nothing else: no descriptors but
    /// /dev/null and the pipe for the output, no blocked or ignored signals. It ends with the thread that
    /// starts it. `withErrors`: the standard error is kept with the output. Call it once.
    void start(const std::string& program, const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment, bool withErrors = false);
    /// Waits at most `seconds`, on the thread that started the child. Keeps the first `most` bytes of output.
    ChildEnd wait(double seconds, std::size_t most = 4096);
    /// Ends the child and all its processes at once; wait() returns soon. May be called from any thread;
    /// before start() it prevents the start.
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

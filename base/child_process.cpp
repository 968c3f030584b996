#include "base/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/descriptors.hpp"
#include "base/stopwatch.hpp"

namespace mpm {

namespace {

constexpr int kGlance = 20;  // milliseconds between two checks of a child that writes nothing

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// Writes errno to a pipe and ends the child.
[[noreturn]] void fail(int errors) {
    const int number = errno;
    _exit(write(errors, &number, sizeof number) == sizeof number ? 127 : 126);
}

/// The ends of pipes that the child writes to. exec() closes `errors`.
struct ChildPipes {
    int output, errors;
};

/// Replaces the child with `program`. Runs after fork(), so it calls only async-signal-safe functions.
[[noreturn]] void become(const char* program, char* const* words, char* const* environment, ChildPipes to,
                         bool withErrors, pid_t parent) {
    setsid();
    // If the parent ends after prctl(), the kernel kills the child. If the parent ended before,
    // getppid() differs.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) fail(to.errors);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(to.output, STDOUT_FILENO) < 0 ||
        dup2(withErrors ? to.output : nothing, STDERR_FILENO) < 0)
        fail(to.errors);
    closeDescriptorsOnExec();
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number)
        sigaction(number, &usual, nullptr);  // fails for SIGKILL and SIGSTOP, which have no handlers
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(program, words, environment);
    fail(to.errors);
}

/// A pipe for a child. The end for writing is above 2, because the child replaces descriptors 0 to 2.
struct Pipe {
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return;
        from = ends[0];
        to = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        const int error = errno;
        close(ends[1]);
        errno = error;
    }
    void closeTo() {
        if (to >= 0) close(std::exchange(to, -1));
    }

    int from = -1, to = -1;
};

/// Reads from the child and appends to `output`, up to `most` bytes in total. Returns false if the child has
/// closed the pipe.
bool drain(int descriptor, std::string& output, std::size_t most) {
    char part[4096];
    const ssize_t count = read(descriptor, part, sizeof part);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    output.append(part, std::min(static_cast<std::size_t>(count), most - std::min(most, output.size())));
    return count > 0;
}

}  // namespace

ChildProcess::~ChildProcess() {
    stop();
    wait(0);
    if (m_output >= 0) close(m_output);
}

void ChildProcess::start(const std::string& program, const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment, bool withErrors) {
    // Prepares all data before the fork, because the child must not allocate memory.
    std::vector<std::string> words = arguments, settings = environment;
    const std::vector<char*> wordPointers = pointers(words), settingPointers = pointers(settings);
    Pipe output, errors;
    const pid_t parent = getpid();
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_id = m_stopped || output.to < 0 || errors.to < 0 ? -1 : fork();
        if (m_id == 0)
            become(program.c_str(), wordPointers.data(), settingPointers.data(), {output.to, errors.to},
                   withErrors, parent);
        if (m_id < 0) m_startError = errno;
    }
    output.closeTo();
    errors.closeTo();
    m_output = output.from;
    // If the program starts, exec() closes the child's end of `errors`, so read() returns 0.
    while (m_id > 0 && read(errors.from, &m_startError, sizeof m_startError) < 0 && errno == EINTR) {
    }
    if (errors.from >= 0) close(errors.from);
}

void ChildProcess::stop() {
    m_stopped = true;
    const std::lock_guard<std::mutex> lock(m_mutex);
    signal(SIGKILL);
}

/// Signals the child's process group, and also the child, because the group does not exist before setsid().
void ChildProcess::signal(int number) const {
    if (m_id <= 0) return;
    kill(-m_id, number);
    kill(m_id, number);
}

/// Returns whether the child has ended. If so, clears m_id, because the system may reuse the process id.
bool ChildProcess::ended(ChildEnd& end) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    int status = 0;
    // WNOWAIT keeps the child as a zombie, so that its id is not reused before the group is killed.
    siginfo_t about{};
    if (waitid(P_PID, static_cast<id_t>(m_id), &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == 0)
        return false;
    kill(-m_id, SIGKILL);
    if (waitpid(m_id, &status, 0) == m_id) {
        end.how = WIFEXITED(status) ? ChildEnd::How::Exited : ChildEnd::How::Signalled;
        end.number = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    }
    m_id = -1;
    return true;
}

ChildEnd ChildProcess::wait(double seconds, std::size_t most) {
    ChildEnd end;
    end.number = m_startError;
    if (m_stopped) end.how = ChildEnd::How::Stopped;
    if (m_id <= 0) return end;
    const Stopwatch watch;
    bool late = false, open = true;
    while (!ended(end)) {
        pollfd waiting{open ? m_output : -1, POLLIN, 0};
        if (poll(&waiting, 1, kGlance) > 0) open = drain(m_output, end.output, most);
        if (late || m_stopped || watch.seconds() < seconds) continue;
        late = true;
        const std::lock_guard<std::mutex> lock(m_mutex);
        signal(SIGKILL);
    }
    // After the child's end, the pipe may still contain output.
    for (pollfd rest{m_output, POLLIN, 0}; open && poll(&rest, 1, 0) > 0;)
        open = drain(m_output, end.output, most);
    if (m_stopped)
        end.how = ChildEnd::How::Stopped;
    else if (late)
        end.how = ChildEnd::How::OutOfTime;
    else if (m_startError != 0)
        end = {ChildEnd::How::NotStarted, m_startError, {}};
    return end;
}

}  // namespace mpm

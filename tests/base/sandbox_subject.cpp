// The tests of the sandbox start this program. It tries an action that a sandbox must end or deny, and prints
// the result.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <new>

#include <opencv2/core.hpp>

#include "base/child_process.hpp"
#include "base/loops.hpp"
#include "base/pending_file.hpp"
#include "base/sandbox.hpp"

extern char** environ;

namespace {

using Words = std::vector<std::string>;

void say(const std::string& name, bool done) {
    std::printf("%s: %s\n", name.c_str(), done ? "done" : std::strerror(errno));
}

bool opens(const std::string& path, int flags) {
    const int file = open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
    return file >= 0;
}

bool connects() {
    const int end = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(9);
    return end >= 0 && (connect(end, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ||
                        errno == ECONNREFUSED);
}

/// Runs `task` in a child process. Returns whether `task` succeeded. Sets errno if no process can start.
bool inProcess(const std::function<bool()>& task) {
    const pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) _exit(task() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
}

bool executes() {
    char program[] = "/bin/true";
    char* const words[] = {program, nullptr};
    return execve(program, words, environ) == 0;
}

bool computes(const std::string& folder) {
    std::vector<int> values(1000);
    mpm::parallelFor(1000, [&](int i) { values[static_cast<size_t>(i)] = i; });
    mpm::PendingFile file(folder + "/result");
    file.write(std::to_string(values.back()));
    file.keep();
    std::ifstream again(folder + "/result");
    int last = 0;
    return again >> last && last == 999;
}

/// Tries all actions. Arguments: FOLDER (may be written), FILE (may be read), SECRET (must not be read).
void probe(const Words& words) {
    const std::string& folder = words[0];
    say("computing", computes(folder));
    say("reading inside", opens(words[1], O_RDONLY));
    say("reading outside", opens(words[2], O_RDONLY));
    say("writing outside", opens(words[2], O_WRONLY));
    say("making outside", opens(words[2] + ".new", O_WRONLY | O_CREAT));
    say("making a program",
        opens(folder + "/program", O_WRONLY | O_CREAT) && chmod((folder + "/program").c_str(), 0700) == 0);
    say("connecting", connects());
    say("another process", inProcess([] { return true; }));
    say("tracing", syscall(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0) == 0);
    say("a signal to another", kill(getppid(), 0) == 0);
    say("keys", syscall(SYS_keyctl, 0, -3, 0, 0, 0) >= 0);
    say("a ring of calls", syscall(SYS_io_uring_setup, 1, nullptr) >= 0);
    rlimit more{1 << 30, 1 << 30};
    say("higher limits", setrlimit(RLIMIT_CORE, &more) == 0);
    std::fflush(stdout);
    say("a program", executes());
}

void allocate() {
    try {
        for (std::vector<std::vector<char>> blocks;;)
            blocks.emplace_back(16 << 20, 'x');
    } catch (const std::bad_alloc&) {
        std::puts("out of memory");
    }
}

[[noreturn]] void spin() {
    for (volatile unsigned i = 0;; i = i + 1) {
    }
}

void fill(const std::string& file) {
    std::ofstream out(file, std::ios::binary);
    const std::string part(1 << 20, 'x');
    while (out.write(part.data(), static_cast<std::streamsize>(part.size())).flush()) {
    }
    std::puts("the file ended");
}

void inherited() {
    for (char** setting = environ; *setting != nullptr; ++setting)
        std::printf("%s\n", *setting);
    for (int i = 3; i < 1024; ++i)
        if (fcntl(i, F_GETFD) >= 0) std::printf("descriptor %d\n", i);
    struct sigaction pipe {};
    sigaction(SIGPIPE, nullptr, &pipe);
    if (pipe.sa_handler != SIG_DFL) std::puts("SIGPIPE is ignored");
}

/// Writes the process id to a file, then waits for ever.
[[noreturn]] void linger(const std::string& file) {
    std::ofstream(file) << getpid() << std::flush;
    for (;;)
        pause();
}

/// Starts a process that waits for ever, then exits and leaves that process running.
[[noreturn]] void leave(const std::string& program, const std::string& file) {
    auto* child = new mpm::ChildProcess;
    child->start(program, {program, "linger", file}, {});
    while (std::ifstream(file).peek() == EOF)
        usleep(1000);
    _exit(0);
}

/// Makes the system calls of Landlock and of filters fail, as in a kernel that has neither.
void becomeOldKernel() {
    const auto fails = static_cast<std::uint32_t>(SECCOMP_RET_ERRNO | ENOSYS);
    sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 444},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_seccomp},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
        {BPF_RET | BPF_K, 0, 0, fails},
    };
    const sock_fprog filter{5, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) std::puts("no old kernel can be made");
}

bool take(Words& words, const std::string& word) {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) return false;
    words.erase(found);
    return true;
}

/// Runs WORK FOLDER [FILE ...] in a sandbox. The sandbox allows writing to FOLDER and reading FILE.
int run(const std::string& program, Words words) {
    mpm::Sandbox sandbox;
    sandbox.landlock = !take(words, "without-landlock");
    sandbox.filter = !take(words, "without-filter");
    if (take(words, "old-kernel")) becomeOldKernel();
    const std::string work = words[0];
    words.erase(words.begin());
    if (work == "inherited") return inherited(), 0;
    if (work == "linger") linger(words[0]);
    if (work == "leave") leave(program, words[0]);
    if (work == "support") return std::puts(mpm::sandboxSupport().c_str()), 0;
    sandbox.writable = {words[0]};
    if (words.size() > 1) sandbox.readable = {words[1]};
    sandbox.readable.push_back("/usr");
    sandbox.memory = 256 << 20, sandbox.seconds = 1, sandbox.fileSize = 4 << 20;
    for (const std::string& line : mpm::enterSandbox(sandbox))
        std::printf("missing %s\n", line.c_str());
    std::fflush(stdout);
    if (work == "probe") probe(words);
    if (work == "allocate") allocate();
    if (work == "spin") spin();
    if (work == "fill") fill(words[0] + "/file");
    return 0;
}

}  // namespace

/// Turns off the leak check, because this check traces the process, which the sandbox's filter denies.
extern "C" const char* __asan_default_options() {
    return "detect_leaks=0";
}

int main(int argc, char** argv) {
    return run(argv[0], Words(argv + 1, argv + argc));
}

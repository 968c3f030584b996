#include "cli/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>

namespace mpm::test {

namespace {

/// Reads bytes from the descriptor and appends them to `text`. Returns false at the end of the output.
bool drain(int descriptor, std::string& text) {
    char buffer[4096];
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
    return count > 0;
}

/// Replaces the child process by `mpm`; does not return.
void become(const std::vector<std::string>& arguments) {
    std::vector<char*> words = {const_cast<char*>(MPM_PROGRAM)};
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(MPM_PROGRAM, words.data());
    _exit(127);
}

}  // namespace

int Outcome::lines() const {
    return static_cast<int>(std::count(err.begin(), err.end(), '\n'));
}

Process::Process(const std::vector<std::string>& arguments, const std::string& output) {
    int out[2], err[2];
    if (pipe(out) != 0 || pipe(err) != 0) throw std::runtime_error("pipe failed");
    m_child = fork();
    if (m_child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        for (int descriptor : {out[0], out[1], err[0], err[1]})
            close(descriptor);
        if (!output.empty()) dup2(open(output.c_str(), O_WRONLY), STDOUT_FILENO);
        become(arguments);
    }
    close(out[1]);
    close(err[1]);
    m_out = out[0], m_err = err[0];
}

Process::~Process() {
    if (m_child < 0) return;
    kill(m_child, SIGKILL);
    wait();
}

void Process::awaitCatching(int number) const {
    const std::string status = "/proc/" + std::to_string(m_child) + "/status";
    for (int i = 0; i < 6'000; ++i, usleep(10'000)) {
        std::ifstream lines(status);
        for (std::string line; std::getline(lines, line);)
            if (line.rfind("SigCgt:", 0) == 0 && std::stoull(line.substr(7), nullptr, 16) >> (number - 1) & 1)
                return;
    }
}

void Process::signal(int number) const {
    kill(m_child, number);
}

Outcome Process::wait() {
    Outcome outcome;
    pollfd waiting[2] = {{m_out, POLLIN, 0}, {m_err, POLLIN, 0}};
    std::string* texts[2] = {&outcome.out, &outcome.err};
    for (int open = 2; open > 0;) {
        poll(waiting, 2, -1);
        for (int i = 0; i < 2; ++i) {
            if (waiting[i].fd < 0 || waiting[i].revents == 0 || drain(waiting[i].fd, *texts[i])) continue;
            close(waiting[i].fd);
            waiting[i].fd = -1;
            --open;
        }
    }
    int status = 0;
    waitpid(m_child, &status, 0);
    m_child = -1;
    if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
    return outcome;
}

Outcome mpmProgram(const std::vector<std::string>& arguments) {
    return Process(arguments).wait();
}

std::optional<std::string> mpmOnTerminal(const std::vector<std::string>& arguments) {
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child < 0) return std::nullopt;
    if (child == 0) become(arguments);
    std::string said;
    while (drain(terminal, said)) {
    }
    close(terminal);
    waitpid(child, nullptr, 0);
    return said;
}

}  // namespace mpm::test

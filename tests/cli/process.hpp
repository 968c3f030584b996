// Runs the built `mpm` as a user would.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mpm::test {

struct Outcome {
    int status = -1;  ///< exit status; -1 if a signal ended the program
    std::string out, err;

    bool says(const std::string& text) const { return err.find(text) != std::string::npos; }
    int lines() const;  ///< number of lines on standard error
};

/// `mpm` in a child process.
class Process {
public:
    /// If `output` is not empty, standard output goes to this file.
    explicit Process(const std::vector<std::string>& arguments, const std::string& output = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void signal(int number) const;
    /// Waits until the program has installed a handler for this signal, at most a minute.
    void awaitCatching(int number) const;
    int id() const { return m_child; }
    Outcome wait();

private:
    int m_child = -1, m_out = -1, m_err = -1;
};

Outcome mpmProgram(const std::vector<std::string>& arguments);
/// Runs `mpm` on a terminal and returns all output; std::nullopt if the system has no terminals (/dev/pts).
std::optional<std::string> mpmOnTerminal(const std::vector<std::string>& arguments);

}  // namespace mpm::test

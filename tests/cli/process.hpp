// Runs the built `mpm` as a user would.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mpm::test {

struct Outcome {
    int status = -1;  ///< exit status; -1 if a signal ended it
    std::string out, err;

    bool says(const std::string& text) const { return err.find(text) != std::string::npos; }
    int lines() const;  ///< on standard error
};

/// A program under way.
class Process {
public:
    /// `output`: standard output goes to this file instead.
    explicit Process(const std::vector<std::string>& arguments, const std::string& output = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void signal(int number) const;
    /// Waits until the program catches this signal, or for a minute.
    void awaitCatching(int number) const;
    int id() const { return m_child; }
    Outcome wait();

private:
    int m_child = -1, m_out = -1, m_err = -1;
};

Outcome mpmProgram(const std::vector<std::string>& arguments);
/// All that a person sees of it; none if the system gives no terminal, as a root without /dev/pts.
std::optional<std::string> mpmOnTerminal(const std::vector<std::string>& arguments);

}  // namespace mpm::test

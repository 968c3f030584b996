// Messages and progress on the terminal, and Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "pipeline/measure/watcher.hpp"

namespace mpm::cli {

/// Returns `text` on a single line, without repeated blanks and without the library's prefix "mpm: ".
std::string oneLine(const std::string& text);

/// Prints "mpm: ..." to standard error. `text` may quote files and other programs, so the function prints a
/// single line of limited length, without control characters and secrets.
void printError(const std::string& text);

/// Prints "mpm: warning: ..." in the same way.
void warn(const std::string& text);

/// After this call, Ctrl-C and SIGTERM only set the flag of stopRequested(), so that files can be completed.
/// A second signal ends the program at once; otherwise the program ends at most a minute after the first.
void catchStopSignals();
bool stopRequested();

/// Returns $COLUMNS if it is set, else the columns of the terminal at standard output; 0: no terminal.
int terminalWidth();

/// Prints progress to standard error: on a terminal, a single line that changes a few times a second; to a
/// file or a pipe, a new line every minute.
class Progress {
public:
    using Clock = std::chrono::steady_clock;

    /// `unit`: such as "frame"; `total`: number of units, negative if unknown.
    Progress(std::string unit, std::int64_t total);
    /// For tests: prints to `out`, and calls `now` for the time. `terminal`: whether to treat `out` as a
    /// terminal.
    Progress(std::string unit, std::int64_t total, std::ostream& out, bool terminal,
             std::function<Clock::time_point()> now);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void add(std::int64_t amount = 1) { set(m_done + amount, m_total); }
    void set(std::int64_t done, std::int64_t total);

private:
    std::string line(double seconds) const;

    std::string m_unit;
    std::int64_t m_total, m_done = 0;
    std::ostream& m_out;
    const bool m_terminal;
    const std::function<Clock::time_point()> m_now;
    const Clock::time_point m_start;
    Clock::time_point m_drawn;
};

/// Returns a Watcher that shows progress and warnings, and stops on Ctrl-C.
pipeline::Watcher watchOnTerminal(const std::string& unit);

}  // namespace mpm::cli

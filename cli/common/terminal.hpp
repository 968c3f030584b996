// The terminal beside results: messages, progress, and Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "pipeline/measure/watcher.hpp"

namespace mpm::cli {

/// `text` on one line, without OpenCV's decorations.
std::string oneLine(const std::string& text);

/// "mpm: ..." on standard error, for text that quotes files and other programs: one line of moderate length,
/// without control characters and without secrets.
void printError(const std::string& text);

/// "mpm: warning: ...", likewise.
void warn(const std::string& text);

/// From here on Ctrl-C and SIGTERM only set a flag, so that files stay whole; a second one ends the program,
/// and so does a minute after the first.
void catchStopSignals();
bool stopRequested();

/// A line on standard error that is rewritten a few times a second; none if standard error is not a
/// terminal.
class Progress {
public:
    /// unit: "frame"; total: how many there are, negative where that is unknown.
    Progress(std::string unit, std::int64_t total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void add(std::int64_t amount = 1) { set(m_done + amount, m_total); }
    void set(std::int64_t done, std::int64_t total);

private:
    void draw();

    using Clock = std::chrono::steady_clock;
    std::string m_unit;
    std::int64_t m_total, m_done = 0;
    Clock::time_point m_start = Clock::now(), m_drawn;
    bool m_shown;
};

/// Progress, warnings and Ctrl-C of a measurement.
pipeline::Watcher watchOnTerminal(const std::string& unit);

}  // namespace mpm::cli

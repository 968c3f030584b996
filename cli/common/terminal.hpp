// What the terminal gets beside results: progress, and the wish to stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mpm::cli {

/// `text` on one line, without OpenCV's decorations.
std::string oneLine(const std::string& text);

/// "mpm: ..." on standard error, for words that quote files and other programs: one line of moderate length,
/// without control characters and without secrets.
void complain(const std::string& text);

/// "mpm: warning: ..." likewise.
void warn(const std::string& text);

/// From here on Ctrl-C and SIGTERM only set a flag, so that files are left whole; a second one kills, and so
/// does a minute.
void catchStopSignals();
bool stopAsked();

/// A line on standard error that is rewritten a few times a second; silent where standard error is no
/// terminal.
class Progress {
public:
    /// total: how much there is to do; negative where nobody knows.
    Progress(std::string what, std::int64_t total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void add(std::int64_t amount = 1);

private:
    void draw();

    using Clock = std::chrono::steady_clock;
    std::string m_what;
    std::int64_t m_total, m_done = 0;
    Clock::time_point m_start = Clock::now(), m_drawn;
    bool m_shown;
};

}  // namespace mpm::cli

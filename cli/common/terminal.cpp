#include "cli/common/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>

#include <opencv2/core.hpp>

#include "base/printable.hpp"
#include "pipeline/source/address.hpp"

namespace mpm::cli {

namespace {

volatile std::sig_atomic_t g_stop = 0;
constexpr unsigned kPatience = 60;          // seconds
constexpr std::size_t kLongestLine = 1000;  // file names may be very long

void onSignal(int) {
    g_stop = 1;
    alarm(kPatience);  // then SIGALRM ends the program, if it still runs
}

std::string duration(double seconds) {
    const long s = static_cast<long>(seconds + 0.5);
    return s >= 3600 ? cv::format("%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60)
                     : cv::format("%ld:%02ld", s / 60, s % 60);
}

}  // namespace

std::string oneLine(const std::string& text) {
    std::string line;
    for (char c : text) {
        const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
        if (!blank)
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (!line.empty() && line.back() == ' ')
        line.pop_back();
    // Removes the library's prefix, because printError() adds the same prefix.
    const std::string signature = "mpm: ";
    for (size_t at = line.find(signature); at != std::string::npos; at = line.find(signature))
        line.erase(at, signature.size());
    return line;
}

void printError(const std::string& text) {
    std::cerr << "mpm: " << printable(pipeline::redacted(oneLine(text)), kLongestLine) << std::endl;
}

void warn(const std::string& text) {
    printError("warning: " + text);
}

void catchStopSignals() {
    struct sigaction action {};
    action.sa_handler = onSignal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool stopRequested() {
    return g_stop != 0;
}

int terminalWidth() {
    if (const char* columns = std::getenv("COLUMNS")) return std::atoi(columns);
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Progress::Progress(std::string unit, std::int64_t total)
    : Progress(std::move(unit), total, std::cerr, isatty(STDERR_FILENO) == 1, [] { return Clock::now(); }) {}

Progress::Progress(std::string unit, std::int64_t total, std::ostream& out, bool terminal,
                   std::function<Clock::time_point()> now)
    : m_unit(std::move(unit)),
      m_total(total),
      m_out(out),
      m_terminal(terminal),
      m_now(std::move(now)),
      m_start(m_now()),
      m_drawn(m_start) {
    // Draws the line before the first step, because the first step may take long.
    const std::string all = m_total > 0 ? " of " + std::to_string(m_total) : "";
    if (m_terminal) m_out << "\r" << m_unit << " 1" << all << " ...\033[K" << std::flush;
}

Progress::~Progress() {
    if (m_terminal) m_out << "\r\033[K" << std::flush;
}

void Progress::set(std::int64_t done, std::int64_t total) {
    m_done = done, m_total = total;
    const Clock::time_point now = m_now();
    const auto pause = m_terminal ? std::chrono::milliseconds(100) : std::chrono::minutes(1);
    if (now - m_drawn < pause) return;
    m_drawn = now;
    const std::string text = line(std::chrono::duration<double>(now - m_start).count());
    m_out << (m_terminal ? "\r" + text + "\033[K" : text + "\n") << std::flush;
}

std::string Progress::line(double seconds) const {
    const double rate = seconds > 0 ? static_cast<double>(m_done) / seconds : 0;
    const std::string begin = m_unit + ' ' + std::to_string(m_done);
    if (m_total <= 0) return begin + cv::format(", %.1f/s, ", rate) + duration(seconds);
    return begin + cv::format(" of %lld, %.1f/s, ", static_cast<long long>(m_total), rate) +
           duration(static_cast<double>(m_total - m_done) / std::max(rate, 1e-9)) + " left";
}

pipeline::Watcher watchOnTerminal(const std::string& unit) {
    const auto progress = std::make_shared<Progress>(unit, -1);
    return {[progress](std::int64_t done, std::int64_t total) { progress->set(done, total); }, stopRequested,
            warn};
}

}  // namespace mpm::cli

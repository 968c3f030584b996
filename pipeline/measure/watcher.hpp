// Functions that a long measurement calls to report progress, and to ask whether to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace mpm::pipeline {

/// Each function may be empty.
struct Watcher {
    std::function<void(std::int64_t done, std::int64_t total)> progress;
    std::function<bool()> stopRequested;
    std::function<void(const std::string& line)> warning;

    void report(std::int64_t done, std::int64_t total) const {
        if (progress) progress(done, total);
    }
    bool stopped() const { return stopRequested && stopRequested(); }
    void warn(const std::string& line) const {
        if (warning) warning(line);
    }
};

class MeasureError : public std::runtime_error {
public:
    enum class Kind {
        Settings,  ///< settings that do not exist, or that contradict each other
        Input,     ///< a model, a data set or a file that cannot be used
        Failed,    ///< failed or was stopped while running
    };

    MeasureError(Kind kind, const std::string& line) : std::runtime_error(line), m_kind(kind) {}
    Kind kind() const { return m_kind; }

private:
    Kind m_kind;
};

}  // namespace mpm::pipeline

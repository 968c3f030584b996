// How a long measurement reports to the caller, and how the caller stops it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mpm::pipeline {

/// Empty functions are not called.
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

}  // namespace mpm::pipeline

// How much of a clip a method that reuses computed, and how well it did.
#pragma once

#include <mpm/mpm.hpp>

namespace mpm::pipeline {

/// Reuse over time in forwards of single images.
struct ReuseCounts {
    int forwards = 0, full = 0, suspended = 0;  ///< forwards: 0 if nothing reuses
    double recomputed = 0;                      ///< shares of the tokens, summed

    void add(const mpm::ReuseReport& report);
    ReuseCounts& operator+=(const ReuseCounts& other);
    /// Shares of all forwards.
    double meanRecomputed() const { return recomputed / forwards; }
    double fullShare() const { return static_cast<double>(full) / forwards; }
    double suspendedShare() const { return static_cast<double>(suspended) / forwards; }
};

/// Share of the pixels that have the same label; CV_8U or CV_16U, of the same size.
double shareOfEqual(const cv::Mat& labels, const cv::Mat& others);

}  // namespace mpm::pipeline

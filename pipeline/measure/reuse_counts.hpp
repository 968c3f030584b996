// Counts of the tokens that reuse computed in a clip, and the comparison of labels.
#pragma once

#include <vector>

#include <mpm/mpm.hpp>

namespace mpm::pipeline {

/// Counts of reuse over time, from forwards of single images. `full` and `suspended` count the forwards with
/// ReuseState::Full and ReuseState::Suspended.
struct ReuseCounts {
    int forwards = 0, full = 0, suspended = 0;  ///< numbers of forwards with reuse
    double recomputed = 0;                      ///< sum of the shares of computed tokens

    void add(const mpm::ReuseReport& report);
    ReuseCounts& operator+=(const ReuseCounts& other);
    /// The mean share of computed tokens, and the shares of full and of suspended forwards.
    double meanRecomputed() const { return recomputed / forwards; }
    double fullShare() const { return static_cast<double>(full) / forwards; }
    double suspendedShare() const { return static_cast<double>(suspended) / forwards; }
};

/// Returns the share of pixels with the same label. Both images: CV_8U or CV_16U, of the same size.
double shareOfEqual(const cv::Mat& labels, const cv::Mat& others);

class TokenMeans {
public:
    /// `mapGiven`: whether the first stage is a map that the model computes, not a merge of the schedule.
    void add(const mpm::ImageReport& report, bool mapGiven);
    void add(const std::vector<int>& tokens);  ///< number of tokens that each block computes
    std::vector<double> means() const;
    std::vector<int> schedule() const { return m_schedule; }  ///< of the first image that merged

private:
    std::vector<double> m_sums;  ///< whole numbers, so the order of the images does not matter
    std::vector<int> m_schedule;
    int m_images = 0;
};

/// Returns the blocks before which the method merged.
std::vector<int> scheduleOf(const mpm::ImageReport& report, bool mapGiven);

int tokensKept(const mpm::ImageReport& report);

}  // namespace mpm::pipeline

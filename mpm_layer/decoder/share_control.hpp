// Settings of one MpmShare, which its handle writes and the layer reads.
#pragma once

#include <mutex>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

class SharingControl {
public:
    /// `grid`: columns and rows of superpatches.
    SharingControl(cv::Size grid, int shared) : m_grid(grid), m_shared(shared) {}

    cv::Size grid() const { return m_grid; }
    int shared() const;
    void setShared(int count);
    void setScores(const std::vector<cv::Mat>& scores);
    /// Of each image of a batch; empty: those of the policy.
    std::vector<cv::Mat> scores(int images) const;

private:
    const cv::Size m_grid;
    mutable std::mutex m_guard;
    int m_shared;
    std::vector<cv::Mat> m_scores;
};

}  // namespace mpm

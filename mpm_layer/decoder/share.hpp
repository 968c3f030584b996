// Content-aware token sharing: one token for four neighbouring patches, where a policy finds one class.
#pragma once

#include <mutex>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// Settings of one MpmShare, which its handle writes and the layer reads.
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

namespace decoder {

/// Channel 1 minus channel 0 of `policy` [2, superpatches].
std::vector<float> policyScores(const float* policy, int superpatches);

/// The `count` superpatches with the highest score, in ascending order; the lowest index wins ties. NaN is
/// below all others.
std::vector<int> sharedSuperpatches(const std::vector<float>& scores, int count);

/// The cluster of each of rows x columns patches: each of the `shared` superpatches is one. Ids count
/// clusters from the first patch on, row by row.
std::vector<int> sharedMap(const std::vector<int>& shared, int rows, int columns);

}  // namespace decoder
}  // namespace mpm

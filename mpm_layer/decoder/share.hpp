// Content-aware token sharing: the four patches of a superpatch share a token if a policy network predicts
// that all four show the same class.
#pragma once

#include <mutex>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// The settings of an MpmShare layer. The handle (mpm::Sharing) writes them, and the layer reads them.
class SharingControl {
public:
    /// `grid`: columns and rows of superpatches.
    SharingControl(cv::Size grid, int shared) : m_grid(grid), m_shared(shared) {}

    cv::Size grid() const { return m_grid; }
    int shared() const;
    void setShared(int count);
    void setScores(const std::vector<cv::Mat>& scores);
    /// Returns the scores that were set for each image of a batch; empty if the policy's scores are used.
    std::vector<cv::Mat> scores(int images) const;

private:
    const cv::Size m_grid;
    mutable std::mutex m_guard;
    int m_shared;
    std::vector<cv::Mat> m_scores;
};

namespace decoder {

/// Returns channel 1 minus channel 0 of `policy` [2, superpatches].
std::vector<float> policyScores(const float* policy, int superpatches);

/// Returns the indices of the `count` highest scores, in ascending order; the lowest index wins ties.
/// NaN is below all numbers.
std::vector<int> sharedSuperpatches(const std::vector<float>& scores, int count);

/// Returns the cluster of each of rows x columns patches; a superpatch in `shared` is a single cluster.
/// Clusters are numbered in the order of their first patches, row by row.
std::vector<int> sharedMap(const std::vector<int>& shared, int rows, int columns);

}  // namespace decoder
}  // namespace mpm

// Content-aware token sharing: a single token for four neighbouring patches (a superpatch), if a policy finds
// a single class there.
#pragma once

#include <mutex>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// Settings of an MpmShare: its handle writes them, the layer reads them.
class SharingControl {
public:
    /// `grid`: columns and rows of superpatches.
    SharingControl(cv::Size grid, int shared) : m_grid(grid), m_shared(shared) {}

    cv::Size grid() const { return m_grid; }
    int shared() const;
    void setShared(int count);
    void setScores(const std::vector<cv::Mat>& scores);
    /// Returns the scores of each image of a batch; empty: the scores of the policy are used.
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

/// Returns the `count` superpatches with the highest scores, in ascending order; the lowest index wins ties.
/// NaN is below all numbers.
std::vector<int> sharedSuperpatches(const std::vector<float>& scores, int count);

/// Returns the cluster of each of rows x columns patches; a superpatch in `shared` is a single cluster. Ids
/// count clusters from the first patch, row by row.
std::vector<int> sharedMap(const std::vector<int>& shared, int rows, int columns);

}  // namespace decoder
}  // namespace mpm

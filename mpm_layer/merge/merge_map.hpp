// Which cluster each token went to: the one data structure every reducer answers with and everything else
// reads.
#pragma once

#include <cstddef>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// ids[i] is the cluster of token i; ids are 0..clusters-1 and every one is used.
struct MergeMap {
    std::vector<int> ids;
    int clusters = 0;

    int tokens() const { return static_cast<int>(ids.size()); }
    bool isIdentity() const { return clusters == tokens(); }
};

MergeMap identityMap(int tokens);

/// i -> second(first(i)). Throws if second does not take first's clusters.
MergeMap compose(const MergeMap& first, const MergeMap& second);

/// New number of each cluster: by representative, its lowest member, from left to right.
std::vector<int> representativeOrder(const MergeMap& map);
void renumber(MergeMap& map, const std::vector<int>& order);

/// Throws if a Mat is no map by its type and shape: CV_32S 1xN (or Nx1), without elements for N = 0. A Mat
/// without type is not a map: it was never filled.
void checkMapForm(const cv::Mat& map, const char* what);

/// From a Mat of that form; throws also if an id is out of range or one is left out.
MergeMap toMergeMap(const cv::Mat& map, const char* what);
cv::Mat toMat(const MergeMap& map);

/// Members of each cluster, in ascending order.
class Clusters {
public:
    explicit Clusters(const MergeMap& map);
    int count() const { return static_cast<int>(m_starts.size()) - 1; }
    int size(int cluster) const { return m_starts[cluster + 1] - m_starts[cluster]; }
    const int* members(int cluster) const { return m_members.data() + m_starts[cluster]; }

private:
    std::vector<int> m_starts, m_members;
};

/// Rows of a matrix in memory.
struct RowsView {
    const float* data = nullptr;
    size_t stride = 0;  ///< floats from one row to the next
    int count = 0;
    int width = 0;

    const float* row(int i) const { return data + static_cast<size_t>(i) * stride; }
};

/// out row c = mean of cluster c's members, weighted by `sizes` where given. Exact where a cluster has one
/// member. Only clusters in `range` are written.
void averageRows(const RowsView& rows, const Clusters& clusters, const cv::Range& range, const float* sizes,
                 float* out, size_t outStride);

/// out row i = rows row map.ids[i]. A pure copy.
void restoreRows(const RowsView& rows, const MergeMap& map, float* out, size_t outStride);

}  // namespace mpm

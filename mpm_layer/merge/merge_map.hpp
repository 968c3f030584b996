// The merge map: the cluster of each token. Every reducer returns a map; other code composes, converts and
// reads maps.
#pragma once

#include <cstddef>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// ids[i] is the cluster of token i; ids are 0..clusters-1, and every id is used.
struct MergeMap {
    std::vector<int> ids;
    int clusters = 0;

    int tokens() const { return static_cast<int>(ids.size()); }
    bool isIdentity() const { return clusters == tokens(); }
};

MergeMap identityMap(int tokens);

/// Returns the map i -> second.ids[first.ids[i]]. Throws if second.tokens() is not first.clusters.
MergeMap compose(const MergeMap& first, const MergeMap& second);

/// Returns a new number for each cluster, in the order of the clusters' representatives (lowest members).
std::vector<int> representativeOrder(const MergeMap& map);
void renumber(MergeMap& map, const std::vector<int>& order);

/// Throws if a Mat does not have the type and shape of a map: CV_32S 1xN (or Nx1), empty if N is 0. Also
/// throws for a default-constructed Mat, because its type is not CV_32S.
void checkMapForm(const cv::Mat& map, const char* what);

/// Converts a Mat to a map; throws like checkMapForm(), and if an id is out of range or not used.
MergeMap toMergeMap(const cv::Mat& map, const char* what);
cv::Mat toMat(const MergeMap& map);

/// The members of each cluster, in ascending order.
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

/// How the members of a cluster become a row.
enum class Mean {
    Plain,
    Weighted,  ///< weighted by the number of tokens that each member represents
    Scaled     ///< the weighted mean, scaled from its length a to sqrt(a * b); b is the weighted mean of the
               ///< members' lengths
};

/// Writes the mean of the members of each cluster c in `range` to row c of `out`. Reads `sizes` if the mean
/// is not plain. Copies a single member exactly.
void averageRows(const RowsView& rows, const Clusters& clusters, const cv::Range& range, Mean mean,
                 const float* sizes, float* out, size_t outStride);

/// Copies row map.ids[i] of `rows` to row i of `out`.
void restoreRows(const RowsView& rows, const MergeMap& map, float* out, size_t outStride);

}  // namespace mpm

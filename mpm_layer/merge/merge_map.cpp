#include "mpm_layer/merge/merge_map.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {
namespace {

// Scales a weighted mean from its length a to sqrt(a * b); b is the weighted mean of the members' lengths.
void scaleMean(const RowsView& rows, const int* members, const std::vector<float>& weights, float* mean) {
    double lengths = 0, total = 0;
    for (size_t m = 0; m < weights.size(); ++m) {
        lengths += weights[m] * kernels::rowLength(rows.row(members[m]), rows.width);
        total += weights[m];
    }
    const double length = kernels::rowLength(mean, rows.width);
    if (length == 0) return;
    const double scale = std::sqrt(lengths / total / length);
    for (int k = 0; k < rows.width; ++k)
        mean[k] = static_cast<float>(mean[k] * scale);
}

}  // namespace

MergeMap identityMap(int tokens) {
    MergeMap map;
    map.ids.resize(tokens);
    std::iota(map.ids.begin(), map.ids.end(), 0);
    map.clusters = tokens;
    return map;
}

MergeMap compose(const MergeMap& first, const MergeMap& second) {
    if (second.tokens() != first.clusters) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: second map takes %d tokens, but the first leaves %d clusters",
                            second.tokens(), first.clusters));
    }
    MergeMap map;
    map.clusters = second.clusters;
    map.ids.resize(first.ids.size());
    std::transform(first.ids.begin(), first.ids.end(), map.ids.begin(),
                   [&](int id) { return second.ids[id]; });
    return map;
}

std::vector<int> representativeOrder(const MergeMap& map) {
    std::vector<int> order(map.clusters, -1);
    int next = 0;
    for (int id : map.ids)
        if (order[id] < 0) order[id] = next++;
    return order;
}

void renumber(MergeMap& map, const std::vector<int>& order) {
    for (int& id : map.ids)
        id = order[id];
}

void checkMapForm(const cv::Mat& map, const char* what) {
    const bool isRow =
        map.type() == CV_32S && map.dims == 2 && (map.empty() || map.rows == 1 || map.cols == 1);
    if (isRow) return;
    CV_Error(cv::Error::StsBadArg,
             cv::format("mpm: %s must be CV_32S 1xN, one cluster id for each token", what));
}

MergeMap toMergeMap(const cv::Mat& mat, const char* what) {
    checkMapForm(mat, what);
    MergeMap map;
    if (mat.empty()) return map;
    const cv::Mat flat = mat.isContinuous() ? mat : mat.clone();
    map.ids.assign(flat.ptr<int>(), flat.ptr<int>() + flat.total());
    const auto [lowest, highest] = std::minmax_element(map.ids.begin(), map.ids.end());
    const int tokens = map.tokens();
    if (*lowest < 0 || *highest >= tokens) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: %s has id %d; ids of %d tokens lie in 0..%d", what,
                            *lowest < 0 ? *lowest : *highest, tokens, tokens - 1));
    }
    map.clusters = *highest + 1;
    std::vector<char> used(map.clusters, 0);
    for (int id : map.ids)
        used[id] = 1;
    const auto missing = std::find(used.begin(), used.end(), 0);
    if (missing != used.end()) {
        CV_Error(cv::Error::StsBadArg,
                 cv::format("mpm: %s leaves out id %d; all of 0..%d must be used", what,
                            static_cast<int>(missing - used.begin()), map.clusters - 1));
    }
    return map;
}

cv::Mat toMat(const MergeMap& map) {
    cv::Mat mat(1, map.tokens(), CV_32S);
    std::copy(map.ids.begin(), map.ids.end(), mat.ptr<int>());
    return mat;
}

Clusters::Clusters(const MergeMap& map) : m_starts(map.clusters + 1, 0), m_members(map.ids.size()) {
    for (int id : map.ids)
        ++m_starts[id + 1];
    std::partial_sum(m_starts.begin(), m_starts.end(), m_starts.begin());
    std::vector<int> next(m_starts.begin(), m_starts.end() - 1);
    for (int i = 0; i < map.tokens(); ++i)
        m_members[next[map.ids[i]]++] = i;
}

void averageRows(const RowsView& rows, const Clusters& clusters, const cv::Range& range, Mean mean,
                 const float* sizes, float* out, size_t outStride) {
    std::vector<float> weights;
    for (int c = range.start; c < range.end; ++c) {
        float* to = out + c * outStride;
        const int count = clusters.size(c);
        const int* members = clusters.members(c);
        if (mean != Mean::Plain && count > 1) {
            weights.resize(count);
            std::transform(members, members + count, weights.begin(), [&](int m) { return sizes[m]; });
            kernels::weightedMeanRow(rows.data, rows.stride, members, weights.data(), count, rows.width, to);
            if (mean == Mean::Scaled) scaleMean(rows, members, weights, to);
        } else {
            kernels::meanRow(rows.data, rows.stride, members, count, rows.width, to);
        }
    }
}

void restoreRows(const RowsView& rows, const MergeMap& map, float* out, size_t outStride) {
    for (int id : map.ids) {
        std::copy_n(rows.row(id), rows.width, out);
        out += outStride;
    }
}

}  // namespace mpm

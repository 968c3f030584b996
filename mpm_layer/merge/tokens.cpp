// Mutual Pair Merging of plain matrices, without a network.
#include <algorithm>

#include <mpm/mpm.hpp>

#include "base/checked.hpp"
#include "mpm_layer/kernels/common/limits.hpp"
#include "mpm_layer/merge/mutual_pairs.hpp"
#include "mpm_layer/merge/nearest.hpp"

namespace mpm {
namespace {

cv::Mat checkedTokens(const cv::Mat& tokens, int special) {
    if (tokens.dims != 2 || tokens.type() != CV_32F || tokens.cols < 1) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: tokens must be a CV_32F matrix with one row for each token and at least one column");
    }
    checkShape(std::vector<int>{tokens.rows, tokens.cols}, "mpm: tokens");
    if (special < 0 || special > tokens.rows) {
        CV_Error(
            cv::Error::StsOutOfRange,
            cv::format("mpm: special must lie in 0..%d, the rows of tokens; got %d", tokens.rows, special));
    }
    return tokens;
}

RowsView imageRows(const cv::Mat& tokens, int special) {
    const float* data = tokens.empty() ? nullptr : tokens.ptr<float>();
    const size_t stride = tokens.step1();
    return {data + special * stride, stride, tokens.rows - special, tokens.cols};
}

}  // namespace

Merged mergeTokens(const cv::Mat& input, int special) {
    const cv::Mat tokens = checkedTokens(input, special);
    const RowsView rows = imageRows(tokens, special);
    const MergeMap map = pairUp(nearestNeighbours({rows}).front());
    Merged merged;
    merged.map = toMat(map);
    merged.tokens.create(special + map.clusters, tokens.cols, CV_32F);
    if (special > 0) tokens.rowRange(0, special).copyTo(merged.tokens.rowRange(0, special));
    if (map.clusters > 0) {
        averageRows(rows, Clusters(map), {0, map.clusters}, Mean::Plain, nullptr,
                    merged.tokens.ptr<float>(special), tokens.cols);
    }
    return merged;
}

cv::Mat restoreTokens(const cv::Mat& input, const cv::Mat& map, int special) {
    const cv::Mat tokens = checkedTokens(input, special);
    checkMapForm(map, "map");
    const cv::Mat ids = map.isContinuous() ? map : map.clone();
    const RowsView rows = imageRows(tokens, special);
    MergeMap gather;
    if (!ids.empty()) gather.ids.assign(ids.ptr<int>(), ids.ptr<int>() + ids.total());
    for (int id : gather.ids) {
        if (id < 0 || id >= rows.count) {
            CV_Error(cv::Error::StsOutOfRange,
                     cv::format("mpm: map has id %d, but tokens has %d clusters", id, rows.count));
        }
    }
    const std::vector<int> sizes{checkedSum<int>(special, gather.tokens()), tokens.cols};
    checkShape(sizes, "mpm: restored tokens");
    cv::Mat full(sizes[0], sizes[1], CV_32F);
    if (special > 0) tokens.rowRange(0, special).copyTo(full.rowRange(0, special));
    if (gather.tokens() > 0) restoreRows(rows, gather, full.ptr<float>(special), tokens.cols);
    return full;
}

cv::Mat composeMaps(const cv::Mat& first, const cv::Mat& second) {
    return toMat(compose(toMergeMap(first, "first"), toMergeMap(second, "second")));
}

const char* version() {
    return MPM_VERSION;
}

}  // namespace mpm

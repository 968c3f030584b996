#include "mpm_layer/decoder/share.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mpm {

int SharingControl::shared() const {
    const std::lock_guard<std::mutex> lock(m_guard);
    return m_shared;
}

void SharingControl::setShared(int count) {
    if (count < 0 || count > m_grid.area()) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: count must be 0 to %d, the superpatches; got %d", m_grid.area(), count));
    }
    const std::lock_guard<std::mutex> lock(m_guard);
    m_shared = count;
}

void SharingControl::setScores(const std::vector<cv::Mat>& scores) {
    std::vector<cv::Mat> own;
    for (const cv::Mat& image : scores) {
        if (image.dims != 2 || image.type() != CV_32F || image.size() != m_grid) {
            CV_Error(cv::Error::StsUnmatchedSizes,
                     cv::format("mpm: scores must be CV_32F of %d rows and %d columns, the superpatches",
                                m_grid.height, m_grid.width));
        }
        own.push_back(image.clone());
    }
    const std::lock_guard<std::mutex> lock(m_guard);
    m_scores = std::move(own);
}

std::vector<cv::Mat> SharingControl::scores(int images) const {
    const std::lock_guard<std::mutex> lock(m_guard);
    if (m_scores.empty()) return {};
    if (m_scores.size() != 1 && m_scores.size() != static_cast<size_t>(images)) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: setScores has the scores of %d images, the batch has %d",
                            static_cast<int>(m_scores.size()), images));
    }
    return m_scores.size() == 1 ? std::vector<cv::Mat>(images, m_scores.front()) : m_scores;
}

namespace decoder {

std::vector<float> policyScores(const float* policy, int superpatches) {
    std::vector<float> scores(superpatches);
    for (int i = 0; i < superpatches; ++i)
        scores[i] = policy[superpatches + i] - policy[i];
    return scores;
}

std::vector<int> sharedSuperpatches(const std::vector<float>& scores, int count) {
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](int a, int b) {
        if (std::isnan(scores[a]) != std::isnan(scores[b])) return std::isnan(scores[b]);
        return scores[a] > scores[b] || (!(scores[b] > scores[a]) && a < b);
    };
    std::partial_sort(order.begin(), order.begin() + count, order.end(), before);
    order.resize(count);
    std::sort(order.begin(), order.end());
    return order;
}

std::vector<int> sharedMap(const std::vector<int>& shared, int rows, int columns) {
    const int across = columns / 2;
    std::vector<int> idOf(static_cast<size_t>(rows / 2) * across, -2);  // not shared
    for (int superpatch : shared)
        idOf[superpatch] = -1;  // shared, not seen yet
    std::vector<int> map;
    int next = 0;
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            int& id = idOf[static_cast<size_t>(row / 2) * across + column / 2];
            if (id == -1) id = next++;
            map.push_back(id == -2 ? next++ : id);
        }
    }
    return map;
}

}  // namespace decoder
}  // namespace mpm

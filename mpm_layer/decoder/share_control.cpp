#include "mpm_layer/decoder/share_control.hpp"

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

}  // namespace mpm

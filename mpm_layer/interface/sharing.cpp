// The handle of token sharing in the public header.
#include <mpm/sharing.hpp>

#include "mpm_layer/decoder/share_control.hpp"

namespace mpm {

Sharing::Sharing(std::shared_ptr<SharingControl> control) : m_control(std::move(control)) {
    if (!m_control) CV_Error(cv::Error::StsNullPtr, "mpm: a Sharing needs a control; use mpm::sharing(net)");
}

cv::Size Sharing::grid() const {
    return m_control->grid();
}

int Sharing::shared() const {
    return m_control->shared();
}

void Sharing::setShared(int count) {
    m_control->setShared(count);
}

void Sharing::setScores(const std::vector<cv::Mat>& scores) {
    m_control->setScores(scores);
}

}  // namespace mpm

#include "pipeline/tune/model_trials.hpp"

#include <algorithm>
#include <numeric>

namespace mpm::pipeline {

namespace {

bool isOneColour(const cv::Mat& image) {
    if (image.empty()) return true;
    cv::Scalar mean, deviation;
    cv::meanStdDev(image, mean, deviation);
    return *std::max_element(deviation.val, deviation.val + 4) < 1;
}

unsigned reversed(unsigned value) {
    unsigned result = 0;
    for (int bit = 0; bit < 16; ++bit)
        result |= ((value >> bit) & 1U) << (15 - bit);
    return result;
}

}  // namespace

void ImagePicker::add(const cv::Mat& image) {
    ++m_seen;
    if (isOneColour(image)) {
        ++m_blank;
        return;
    }
    if (m_useful++ % m_step != 0) return;
    m_kept.push_back(image.clone());
    if (m_kept.size() < 2 * m_most) return;
    for (size_t i = 0; i < m_most; ++i)
        m_kept[i] = m_kept[2 * i];
    m_kept.resize(m_most);
    m_step *= 2;
}

std::vector<cv::Mat> ImagePicker::images() const {
    const size_t count = std::min(m_kept.size(), m_most);
    std::vector<unsigned> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [](unsigned a, unsigned b) { return reversed(a) < reversed(b); });
    std::vector<cv::Mat> chosen;
    for (const unsigned place : order)
        chosen.push_back(m_kept[place * m_kept.size() / count]);
    return chosen;
}

}  // namespace mpm::pipeline

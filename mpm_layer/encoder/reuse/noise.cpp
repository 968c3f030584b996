#include "mpm_layer/encoder/reuse/noise.hpp"

#include <algorithm>
#include <numeric>

namespace mpm {
namespace {

constexpr int kMostNoiseClasses = 8, kLeastTokens = 48;  // of a class, for a quantile worth the name
constexpr double kQuantile = 0.3;
constexpr float kRise = 1.02f;  // the most in a frame

}  // namespace

void NoiseEstimate::classify(const std::vector<float>& positions) {
    const int tokens = static_cast<int>(positions.size());
    m_order.resize(tokens);
    m_classes.resize(tokens);
    std::iota(m_order.begin(), m_order.end(), 0);
    std::sort(m_order.begin(), m_order.end(), [&](int a, int b) {
        return positions[a] < positions[b] || (positions[a] == positions[b] && a < b);
    });
    const int classes = std::clamp(tokens / kLeastTokens, 1, kMostNoiseClasses);
    for (int rank = 0; rank < tokens; ++rank)
        m_classes[m_order[rank]] = static_cast<int>(static_cast<long long>(rank) * classes / tokens);
}

void NoiseEstimate::add(const std::vector<float>& positions, const std::vector<float>& differences,
                        float least) {
    if (positions.empty()) return;
    classify(positions);
    const size_t classes = m_classes[m_order.back()] + 1;
    const bool first = m_noise.size() != classes;
    m_noise.resize(classes);
    size_t rank = 0;
    for (size_t c = 0; c < classes; ++c) {
        m_sample.clear();
        for (; rank < m_order.size() && m_classes[m_order[rank]] == static_cast<int>(c); ++rank)
            m_sample.push_back(differences[m_order[rank]]);
        const auto quantile = m_sample.begin() + static_cast<long>(kQuantile * (m_sample.size() - 1));
        std::nth_element(m_sample.begin(), quantile, m_sample.end());
        m_noise[c] = first ? *quantile : std::min(*quantile, std::max(m_noise[c], least) * kRise);
    }
}

}  // namespace mpm

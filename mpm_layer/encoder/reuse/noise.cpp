#include "mpm_layer/encoder/reuse/watcher.hpp"

#include <algorithm>
#include <numeric>

namespace mpm {
namespace {

constexpr int kMostNoiseClasses = 8, kLeastTokens = 48;  // of a class, for a quantile worth the name
constexpr double kQuantile = 0.3;
constexpr float kRise = 1.02f;   // the most in a frame
constexpr float kChance = 0.8f;  // bounds of pure noise vary by chance, down to this share of it

}  // namespace

void NoiseEvidence::resize(size_t tokens) {
    for (auto* values : {&differences, &apart, &contrasts, &contrastsBefore})
        values->resize(tokens);
}

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

// Over the tokens of these ranks.
float NoiseEstimate::quantileOf(const std::vector<float>& values, size_t first, size_t end) {
    m_sample.clear();
    for (size_t rank = first; rank < end; ++rank)
        m_sample.push_back(values[m_order[rank]]);
    const auto quantile = m_sample.begin() + static_cast<long>(kQuantile * (m_sample.size() - 1));
    std::nth_element(m_sample.begin(), quantile, m_sample.end());
    return *quantile;
}

void NoiseEstimate::add(const std::vector<float>& positions, const NoiseEvidence& evidence, float least,
                        float most) {
    if (positions.empty()) return;
    classify(positions);
    const size_t classes = m_classes[m_order.back()] + 1;
    const bool first = m_noise.size() != classes;
    m_noise.resize(classes);
    size_t rank = 0;
    for (size_t c = 0; c < classes; ++c) {
        const size_t start = rank;
        while (rank < m_order.size() && m_classes[m_order[rank]] == static_cast<int>(c))
            ++rank;
        float noise = quantileOf(evidence.differences, start, rank);
        for (const auto* bound : {&evidence.apart, &evidence.contrasts, &evidence.contrastsBefore}) {
            const float highest = quantileOf(*bound, start, rank);
            if (highest < kChance * noise) noise = highest;
        }
        noise = std::min(noise, most);
        m_noise[c] = first ? noise : std::min(noise, std::max(m_noise[c], least) * kRise);
    }
}

}  // namespace mpm

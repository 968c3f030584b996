// How much tokens differ from frame to frame where nothing happens: the noise of a camera.
#pragma once

#include <vector>

namespace mpm {

/// Noise differs from token to token, so they are sorted into classes by how noisy they are expected to be.
/// In each class a low quantile of the differences counts: a part of every scene stands still. An estimate
/// falls at once and rises slowly, or traffic would pass for noise.
class NoiseEstimate {
public:
    /// Of the next frame: where each token lies on the axis of noise, and its difference to the frame before
    /// as the root of the mean square. Below `least` noise makes no difference: an estimate rises again from
    /// there.
    void add(const std::vector<float>& positions, const std::vector<float>& differences, float least);
    /// The noise of a token of the frame added last; 0 before the second frame.
    float of(int token) const { return m_noise.empty() ? 0.0f : m_noise[m_classes[token]]; }
    void clear() { m_noise.clear(); }

private:
    void classify(const std::vector<float>& positions);

    std::vector<int> m_order, m_classes;  ///< tokens by position; the class of each token
    std::vector<float> m_noise, m_sample;
};

}  // namespace mpm

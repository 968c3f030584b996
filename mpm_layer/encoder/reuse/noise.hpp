// How much tokens differ from frame to frame where nothing happens: the noise of a camera.
#pragma once

#include <cstddef>
#include <vector>

namespace mpm {

/// For each token, as the root of the mean square. Noise is independent in tokens and frames: none of
/// these is then smaller than the differences. A change of light or scene is alike in tokens side by side,
/// and a frame whose smooth parts have little contrast has little noise.
struct NoiseEvidence {
    std::vector<float> differences;      ///< to the frame before
    std::vector<float> apart;            ///< differences, less what they have in common with the next token's
    std::vector<float> contrasts;        ///< to the next token
    std::vector<float> contrastsBefore;  ///< the same in the frame before

    void resize(std::size_t tokens);
};

/// Noise differs from token to token, so they are sorted into classes by how noisy they are expected to be.
/// In each class a low quantile of the differences counts: a part of every scene stands still. An estimate
/// falls at once and rises slowly, or traffic would pass for noise.
class NoiseEstimate {
public:
    /// Of the next frame: where each token lies on the axis of noise, and the evidence. Below `least` noise
    /// makes no difference: an estimate rises again from there. It never exceeds `most`.
    void add(const std::vector<float>& positions, const NoiseEvidence& evidence, float least, float most);
    /// The noise of a token of the frame added last; 0 before the second frame.
    float of(int token) const { return m_noise.empty() ? 0.0f : m_noise[m_classes[token]]; }
    void clear() { m_noise.clear(); }

private:
    void classify(const std::vector<float>& positions);
    float quantileOf(const std::vector<float>& values, size_t first, size_t end);

    std::vector<int> m_order, m_classes;  ///< tokens by position; the class of each token
    std::vector<float> m_noise, m_sample;
};

}  // namespace mpm

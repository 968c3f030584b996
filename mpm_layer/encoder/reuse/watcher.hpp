// Decides, frame by frame of a stream, which image tokens are computed again. Knows no device.
#pragma once

#include <cstddef>
#include <vector>

#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

/// For each token, as the root of the mean square. Noise is independent in tokens and frames: if the
/// differences are only noise, none of the others is smaller. A change of light or scene is alike in tokens
/// side by side, and a frame whose smooth parts have little contrast has little noise.
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

/// The noise of a pixel grows with its light, and an embedding is linear. So the squared noise of a token is
/// nearly a linear function of the token, which is learned by least squares from the differences between
/// frames.
class NoiseAxis {
public:
    /// Where each image token lies along the axis, up to a constant. `sizes`: their root mean squares;
    /// `differences`: to the frame before, in the same measure.
    std::vector<float> positions(const FrameRows& frame, const std::vector<float>& sizes,
                                 const std::vector<float>& differences);

private:
    void learn(const FrameRows& frame, const std::vector<float>& differences);
    float positionOf(const float* token, float size) const;

    std::vector<float> m_axis;
    unsigned m_frames = 0;  ///< learned from
};

class StreamWatcher {
public:
    /// The next frame is full.
    void restart();
    /// `blocks` that follow each other: an unchanging input has run through all of them after so many
    /// refreshes, and one more.
    FramePlan next(const FrameRows& frame, const Reuse& reuse, int blocks);

private:
    FramePlan planNext(const FrameRows& frame, const Reuse& reuse, int blocks);
    bool measure(const FrameRows& frame, const Reuse& reuse);
    void compareWithBefore(const FrameRows& frame, int token, NoiseEvidence& evidence) const;
    float thresholdOf(int token, const Reuse& reuse) const;
    bool watchSuspended(const FrameRows& frame, const Reuse& reuse);
    std::vector<float> changesOf(const FrameRows& frame, const Reuse& reuse) const;
    FramePlan planFull(const FrameRows& frame, const std::vector<float>& changes);
    FramePlan planPartial(const FrameRows& frame, const Reuse& reuse, const std::vector<float>& changes,
                          bool afterFull);
    int due(const Reuse& reuse) const;
    double staleness(int token) const;
    template <class Score>
    void refresh(int count, FramePlan& plan, const Score& scoreOf) const;
    /// How many are computed.
    int markChanged(const Reuse& reuse, const std::vector<float>& changes, FramePlan& plan) const;
    void finishPlan(const FrameRows& frame, FramePlan& plan);

    std::int64_t m_frames = 0;
    bool m_fresh = true;  ///< no frame is remembered
    bool m_suspended = false;
    int m_fullInARow = 0, m_quietInARow = 0;
    int m_stillFrames = 0;           ///< whose input was equal to the bit
    std::vector<float> m_reference;  ///< image tokens as they were last computed
    std::vector<float> m_previous;   ///< all rows of the frame before
    std::vector<int> m_ages;         ///< frames since each image token was computed
    std::vector<int> m_still;        ///< frames since it changed
    NoiseAxis m_axis;
    NoiseEstimate m_noise;
    std::vector<float> m_sizes;
    NoiseEvidence m_evidence;  ///< of this frame
    float m_least = 0;         ///< the smallest difference that counts
};

}  // namespace mpm

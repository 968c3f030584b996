// Decides, for each frame of a stream, which image tokens are computed again, on any device.
#pragma once

#include <cstddef>
#include <vector>

#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

/// Upper bounds on each token's noise, as root mean squares. Noise is independent between tokens and between
/// frames, so noise alone makes no bound lower than `differences`. If `apart` is lower, the light or the
/// scene has changed in neighbouring tokens in the same way. If `contrasts` or `contrastsBefore` is lower,
/// the token and the next token look alike, and the noise cannot exceed the difference of the two tokens.
struct NoiseEvidence {
    std::vector<float> differences;      ///< from the previous frame
    std::vector<float> apart;            ///< differences without the change that the next token shares
    std::vector<float> contrasts;        ///< differences from the next token
    std::vector<float> contrastsBefore;  ///< contrasts in the previous frame

    void resize(std::size_t tokens);
};

/// Estimates noise. Noise differs from token to token, so tokens are sorted into classes by expected noise.
/// The estimate of a class is a low quantile of the differences of its tokens, because a part of every scene
/// does not move. An estimate falls at once but rises slowly, so that movement is not mistaken for noise.
class NoiseEstimate {
public:
    /// Adds the next frame: the position of each token on the NoiseAxis, and the evidence. Noise below
    /// `least` does not affect thresholds, so estimates may rise to `least` at once. Above `least`, estimates
    /// rise slowly. No estimate exceeds `most`.
    void add(const std::vector<float>& positions, const NoiseEvidence& evidence, float least, float most);
    /// Returns the noise of a token of the last added frame; 0 before the second frame.
    float of(int token) const { return m_noise.empty() ? 0.0f : m_noise[m_classes[token]]; }
    void clear() { m_noise.clear(); }

private:
    void classify(const std::vector<float>& positions);
    float quantileOf(const std::vector<float>& values, size_t first, size_t end);

    std::vector<int> m_order, m_classes;  ///< tokens by position; the class of each token
    std::vector<float> m_noise, m_sample;
};

/// The direction in which the noise of tokens grows. The noise of a pixel grows with its brightness, and a
/// patch embedding is a linear function of pixels. So the squared noise of a token is nearly a linear
/// function of the token. Least squares fits this function to the differences between frames.
class NoiseAxis {
public:
    /// Returns each image token's position along the axis, up to a factor and a constant. `sizes`: root mean
    /// squares of the tokens. `differences`: root mean squares of the tokens' changes since the last frame.
    std::vector<float> positions(const FrameRows& frame, const std::vector<float>& sizes,
                                 const std::vector<float>& differences);

private:
    void learn(const FrameRows& frame, const std::vector<float>& differences);
    float positionOf(const float* token, float size) const;

    std::vector<float> m_axis;
    unsigned m_frames = 0;  ///< number of frames from which the axis was learned
};

class StreamWatcher {
public:
    /// Makes the next frame full.
    void restart();
    /// Plans the next frame. `blocks`: number of blocks of all encoders that use the plan. If the input does
    /// not change for (blocks + 1) * refresh frames, all outputs are final, and further equal frames are
    /// idle.
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
    /// Marks changed tokens as computed or postponed. Returns the number of tokens that are computed.
    int markChanged(const Reuse& reuse, const std::vector<float>& changes, FramePlan& plan) const;
    void finishPlan(const FrameRows& frame, FramePlan& plan);

    std::int64_t m_frames = 0;
    bool m_fresh = true;  ///< no frame is remembered
    bool m_suspended = false;
    int m_fullInARow = 0, m_quietInARow = 0;
    int m_stillFrames = 0;           ///< consecutive frames with the same bits
    std::vector<float> m_reference;  ///< image tokens as they were last computed
    std::vector<float> m_previous;   ///< all rows of the previous frame
    std::vector<int> m_ages;         ///< frames since each image token was computed
    std::vector<int> m_still;        ///< frames since each image token changed
    NoiseAxis m_axis;
    NoiseEstimate m_noise;
    std::vector<float> m_sizes;
    NoiseEvidence m_evidence;
    float m_least = 0;  ///< the smallest difference that is a change
};

}  // namespace mpm

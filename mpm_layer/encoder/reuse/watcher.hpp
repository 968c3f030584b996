// Decides, frame by frame of one stream, which image tokens are computed again. Knows no device.
#pragma once

#include <vector>

#include "mpm_layer/encoder/reuse/noise.hpp"
#include "mpm_layer/encoder/reuse/noise_axis.hpp"
#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

class StreamWatcher {
public:
    /// The next frame is full.
    void restart();
    /// `blocks` that follow each other: an unchanging input has run through all of them after so many
    /// refreshes, and one more.
    FramePlan next(const FrameRows& frame, const Reuse& reuse, int blocks);

private:
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

// The direction in which the noise of a scene's tokens grows.
#pragma once

#include <vector>

#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

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

}  // namespace mpm

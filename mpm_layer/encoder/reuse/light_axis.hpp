// The direction in which the tokens of a scene differ most: that of light, as a rule.
#pragma once

#include <vector>

#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

/// A camera's noise grows with light, and a token's position along this axis is the nearest to light that an
/// encoder sees.
class LightAxis {
public:
    /// Where each image token lies along the axis, up to a constant. `sizes`: their root mean squares. The
    /// axis follows the scene by one step of the power method a frame, over a sample of its tokens.
    std::vector<float> positions(const FrameRows& frame, const std::vector<float>& sizes);

private:
    void step(const FrameRows& frame, const std::vector<float>& sizes);
    float positionOf(const float* token, float size) const;

    std::vector<float> m_axis;  ///< a unit vector
};

}  // namespace mpm

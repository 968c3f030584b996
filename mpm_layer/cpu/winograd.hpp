// 3x3 convolutions in f32 with a quarter of the products, by Winograd's transforms
// (mpm_layer/kernels/product/winograd.hpp).
#pragma once

#include <vector>

#include "mpm_layer/cpu/convolution.hpp"

namespace mpm::cpu {

/// Returns whether a convolution is faster with Winograd's transforms than with products in this precision.
bool suitsWinograd(const ConvShape& shape, Precision precision);

class WinogradWeights {
public:
    WinogradWeights(const float* weights, const ConvShape& shape);

    const LeftRows& rows() const {
        return *m_rows;
    }  ///< row k * outs + out has factor k of output channel `out`
    /// Returns a limit: if no pixel has a larger absolute value, no result overflows. If a weight is not
    /// finite, the limit is 0.
    float largestPixel() const { return m_largestPixel; }

private:
    kernels::Buffer m_memory;
    std::optional<LeftRows> m_rows;
    float m_largestPixel = 0;
};

/// Like convolve(), but leaves out images with values that are too large, infinite or NaN. Returns the
/// indices of these images.
std::vector<int> convolveByWinograd(const float* images, bool rectified, const ConvShape& shape,
                                    const WinogradWeights& weights, const ConvEnd& end, float* output);

}  // namespace mpm::cpu

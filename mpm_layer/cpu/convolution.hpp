// A convolution as products of its weights with tiles of pixels, which are gathered just before the product.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "mpm_layer/cpu/linear.hpp"

namespace mpm::cpu {

inline int divideUp(int value, int by) {
    return value / by + (value % by != 0);
}

inline int roundUp(int value, int to) {
    return divideUp(value, to) * to;  // fits: sizes leave room
}

/// The convolution along an axis of the image. An output depends on at most reach() consecutive pixels.
struct ConvAxis {
    int size, kernel, stride = 1, dilation = 1, before = 0, after = 0;

    int reach() const { return (kernel - 1) * dilation + 1; }
    int outputs() const { return (size + before + after - reach()) / stride + 1; }
};

struct ConvShape {
    int images, channels, outs, groups;
    ConvAxis y, x;

    int channelsEach() const { return channels / groups; }
    int outsEach() const { return outs / groups; }
    int taps() const { return y.kernel * x.kernel; }
    int pixels() const { return y.outputs() * x.outputs(); }
    int depth() const { return channelsEach() * taps(); }
};

/// Throws cv::Exception if a band of the image would have too many cells.
void checkShape(const ConvShape& shape);

/// Whether weights[outs][depth] lose too much accuracy in int8 with a scale for each output channel.
bool losesTooMuch(const float* weights, int outs, int depth);

class WinogradWeights;

/// Kept: the weights passed to ConvWeights remain valid as long as the ConvWeights object is used.
enum class Source { Temporary, Kept };

/// Weights in the order of the cells that they multiply. If the source is Kept and suitsWinograd() is true,
/// has the transforms of the weights in f32 instead.
class ConvWeights {
public:
    /// weights[outs][channels of a group][taps]. The precision becomes f32 if int8 would lose too much, or if
    /// a group has few outputs.
    ConvWeights(const float* weights, const ConvShape& shape, Precision precision,
                Source source = Source::Temporary);

    Precision precision() const { return m_precision; }
    /// Whether new weights of the same values would be packed in the same way for this shape.
    bool fit(const ConvShape& shape) const;
    const WinogradWeights* winograd() const { return m_winograd.get(); }
    const float* source() const { return m_source; }  ///< the weights, if they are kept
    /// The functions below must not be called if winograd() is not null.
    const LeftRows& rows() const { return *m_rows; }
    int planes() const { return m_planes; }  ///< planes of cells, for the channels of a group
    int cells() const { return m_cells; }    ///< cells along the depth, including zeros that complete tiles
    /// The number of planes that are multiplied together. The weights of more planes would not fit the
    /// caches.
    int blockPlanes() const { return m_blockPlanes; }

private:
    void pack(const float* weights, const ConvShape& shape);

    Precision m_precision;
    std::shared_ptr<const WinogradWeights> m_winograd;
    const float* m_source = nullptr;
    kernels::Buffer m_memory;
    std::optional<LeftRows> m_rows;
    int m_planes = 0, m_cells = 0, m_blockPlanes = 0;
};

/// The operations after the sums: bias, residual and activation. A null pointer has no effect.
struct ConvEnd {
    const float* bias = nullptr;      ///< of each output channel
    const float* residual = nullptr;  ///< of the output's shape
    bool residualLast = false;        ///< the residual is added after the activation
    kernels::Activation activation = kernels::Activation::None;
};

/// Computes output = end(convolution of `images`). If `rectified`, negative values of `images` are read as
/// zero. Runs on OpenCV's threads; the bits depend neither on the threads nor on the batch.
void convolve(const float* images, bool rectified, const ConvShape& shape, const ConvWeights& weights,
              const ConvEnd& end, float* output);

}  // namespace mpm::cpu

// Computes a convolution as products of its weights with tiles of pixels. Each tile is gathered just before
// its product.
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

/// Returns whether weights[outs][depth] lose too much accuracy in int8 with a scale for each output channel.
bool losesTooMuch(const float* weights, int outs, int depth);

class WinogradWeights;

/// A part of the depth of a convolution, and the weights of this part. The weights are stored without gaps,
/// so that the processor can prefetch the weights that the product reads next.
struct ConvBlock {
    int firstPlane, planes;
    int cells;  ///< cells of a row of weights; in the last block, also the zeros that complete a tile
    kernels::Buffer memory;
    std::optional<LeftRows> rows;
};

/// Kept: the weights passed to ConvWeights remain valid as long as the ConvWeights object is used.
enum class Source { Temporary, Kept };

/// The weights of a convolution, in the order of the gathered cells (kernels::gatherPanel). If the source is
/// Kept and suitsWinograd() is true, the object has Winograd's transforms of the weights instead, in f32.
class ConvWeights {
public:
    /// weights[outs][channels of a group][taps]. The precision becomes f32 if int8 would lose too much
    /// accuracy (losesTooMuch), or if a group has few outputs.
    ConvWeights(const float* weights, const ConvShape& shape, Precision precision,
                Source source = Source::Temporary);

    Precision precision() const { return m_precision; }
    /// Returns whether packing the same weights again, for this shape, would give the same result.
    bool fit(const ConvShape& shape) const;
    const WinogradWeights* winograd() const { return m_winograd.get(); }
    const float* source() const { return m_source; }  ///< the constructor's weights if kept, else null
    /// Returns the blocks, whose products are added to the output one after another. A deep convolution has
    /// several blocks, so that the data of a product fit in a cache. Returns none if winograd() is not null.
    const std::vector<ConvBlock>& blocks() const { return m_blocks; }

private:
    void pack(const float* weights, const ConvShape& shape);

    Precision m_precision;
    std::shared_ptr<const WinogradWeights> m_winograd;
    const float* m_source = nullptr;
    std::vector<ConvBlock> m_blocks;
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

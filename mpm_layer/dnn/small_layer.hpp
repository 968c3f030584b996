// The small operators around an encoder that OpenCV 4.6 does not have or computes slowly: see
// docs/reference/operators.md.
#pragma once

#include "mpm_layer/dnn/portable_layer.hpp"

namespace mpm::dnn {

using Sizes = std::vector<int>;

/// OpenCV 4.x keeps constants in `blobs`, the engine of 5.x among the inputs; here they always follow the
/// inputs.
class SmallLayer : public PortableLayer {
public:
    /// With `least` to `most` operands, constants included; the first is no constant.
    SmallLayer(const cv::dnn::LayerParams& params, size_t least, size_t most)
        : PortableLayer(params), m_least(least), m_most(most) {}

    int64 getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const final;

protected:
    /// As outputShapes(). There are as many operands as the layer takes.
    virtual std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const = 0;
    /// How many the layer needs for its first output; 0 also if the operands do not fit.
    virtual int64 operations(const std::vector<Sizes>& /*operands*/, const Sizes& /*output*/) const {
        return 0;
    }

    /// Empty if it is absent.
    cv::Mat operand(const std::vector<cv::Mat>& in, size_t index) const;
    std::vector<Sizes> operandSizes(const std::vector<cv::Mat>& in) const;
    /// Whether the operand's packed form may be kept for the next forward: computed operands may change.
    bool isConstant(const std::vector<cv::Mat>& in, size_t index) const;
    /// Whether the packed form of `before` is that of `now`. A layer keeps the matrix that it packed, so that
    /// no other one gets its memory.
    static bool isSame(const cv::Mat& before, const cv::Mat& now) {
        return !before.empty() && before.data == now.data && before.size == now.size;
    }
    /// "mpm: expected; got [2, 3], [4]".
    [[noreturn]] static void rejectSizes(const std::string& expected, const std::vector<Sizes>& operands);

private:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const final;
    std::vector<Sizes> operandSizes(const std::vector<Shape>& in) const;

    const size_t m_least, m_most;
};

Sizes sizesOf(const Shape& shape);
Sizes sizesOf(const cv::Mat& m);
Shape toShape(const Sizes& sizes);

}  // namespace mpm::dnn

// The base class of small operators around an encoder. OpenCV 4.6 lacks these operators or computes them
// slowly: see docs/reference/operators.md.
#pragma once

#include "mpm_layer/dnn/portable_layer.hpp"

namespace mpm::dnn {

using Sizes = std::vector<int>;

/// A layer with the same order of operands in every engine: runtime inputs, then constants. OpenCV 4.x keeps
/// constants in `blobs`; the new engine of 5.x passes constants as inputs.
class SmallLayer : public PortableLayer {
public:
    /// @param least, most limits of the number of operands, constants included; the first operand must not be
    ///     a constant
    SmallLayer(const cv::dnn::LayerParams& params, size_t least, size_t most)
        : PortableLayer(params), m_least(least), m_most(most) {}

    int64 getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const final;

protected:
    /// Returns the shapes of all outputs, as outputShapes() does. The caller checks the number of operands.
    virtual std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const = 0;
    /// Returns the number of operations for the first output; 0 if the operands do not fit.
    virtual int64 operations(const std::vector<Sizes>& /*operands*/, const Sizes& /*output*/) const {
        return 0;
    }

    /// Returns an operand; empty if it is absent.
    cv::Mat operand(const std::vector<cv::Mat>& in, size_t index) const;
    std::vector<Sizes> operandSizes(const std::vector<cv::Mat>& in) const;
    /// Returns whether the operand is a constant, whose packed form can be kept.
    bool isConstant(const std::vector<cv::Mat>& in, size_t index) const;
    /// Returns whether the packed form of `before` is also valid for `now`. A layer must keep the matrix that
    /// the layer packed, so that no other matrix can get the same memory.
    static bool isSame(const cv::Mat& before, const cv::Mat& now) {
        return !before.empty() && before.data == now.data && before.size == now.size;
    }
    /// Throws "mpm: EXPECTED; got [2, 3], [4]".
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

// The small operators around an encoder that OpenCV 4.6 does not have or computes slowly: see
// docs/reference/operators.md.
#pragma once

#include "mpm_layer/dnn/portable_layer.hpp"

namespace mpm::dnn {

/// OpenCV 4.x keeps constants in `blobs`, the engine of 5.x among the inputs; here they always follow the
/// inputs.
class SmallLayer : public PortableLayer {
public:
    explicit SmallLayer(const cv::dnn::LayerParams& params) : PortableLayer(params) {}

protected:
    /// How many operands there are, constants included.
    size_t operands(size_t inputs) const { return inputs + blobs.size(); }
    cv::Mat operand(const std::vector<cv::Mat>& in, size_t index) const;
    std::vector<int> operandShape(const std::vector<Shape>& in, size_t index) const;
    /// Whether the operand's packed form may be kept for the next forward: computed operands may change.
    bool isConstant(const std::vector<cv::Mat>& in, size_t index) const;
    /// Whether the packed form of `before` is that of `now`. A layer keeps the matrix that it packed, so that
    /// no other one gets its memory.
    static bool isSame(const cv::Mat& before, const cv::Mat& now) {
        return !before.empty() && before.data == now.data && before.size == now.size;
    }
    void checkOperands(size_t inputs, size_t least, size_t most) const;
};

std::vector<int> sizesOf(const Shape& shape);
Shape toShape(const std::vector<int>& sizes);

}  // namespace mpm::dnn

// MpmMatMul: products of matrices that are both computed, or of which a constant one is repeated. Few rows by
// many columns are multiplied in the precision of the backbone before the layer.
#pragma once

#include "mpm_layer/dnn/small_layer.hpp"

namespace mpm::dnn {

class MatMulLayer : public SmallLayer {
public:
    explicit MatMulLayer(const cv::dnn::LayerParams& params);
    int64 getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const override;

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    bool m_reversed;  ///< the second operand is the left one
};

}  // namespace mpm::dnn

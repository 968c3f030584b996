// MpmDeformable: deformable attention as one operator.
#pragma once

#include "mpm_layer/decoder/deformable.hpp"
#include "mpm_layer/dnn/small_layer.hpp"

namespace mpm::dnn {

class DeformableLayer : public SmallLayer {
public:
    explicit DeformableLayer(const cv::dnn::LayerParams& params);
    int64 getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const override;

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    /// Value, offsets, logits, reference.
    decoder::DeformableShape checkedShape(const std::vector<std::vector<int>>& operands) const;

    int m_heads, m_points;
    std::vector<cv::Size> m_levels;
    int m_positions = 0;  ///< of all levels
};

}  // namespace mpm::dnn

// MpmResize: class scores to the size of the image, or directly to labels.
#pragma once

#include "mpm_layer/dnn/small_layer.hpp"

namespace mpm::dnn {

class ResizeLayer : public SmallLayer {
public:
    explicit ResizeLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    int outputType(int index) const override { return m_argmax && index == 0 ? kInteger : CV_32F; }
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    int m_rows, m_columns;          ///< the whole is enlarged to
    int m_cropRows, m_cropColumns;  ///< rows and columns of it, from the corner, that are the output
    bool m_alignCorners;
    bool m_argmax;
};

}  // namespace mpm::dnn

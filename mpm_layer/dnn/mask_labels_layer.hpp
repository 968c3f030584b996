// MpmMaskLabels: masks and classes of queries to labels of pixels.
#pragma once

#include "mpm_layer/decoder/mask_labels.hpp"
#include "mpm_layer/dnn/small_layer.hpp"

namespace mpm::dnn {

class MaskLabelsLayer : public SmallLayer {
public:
    explicit MaskLabelsLayer(const cv::dnn::LayerParams& params);
    int64 getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const override;

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    int outputType(int index) const override { return index == 0 ? kInteger : CV_32F; }
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    decoder::MaskLabelsShape checkedShape(const std::vector<int>& masks,
                                          const std::vector<int>& logits) const;

    cv::Size m_size;  ///< of the image
    bool m_sigmoidFirst;
};

}  // namespace mpm::dnn

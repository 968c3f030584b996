// MpmEmbed: patches to the tokens an encoder starts with.
#pragma once

#include "mpm_layer/dnn/small_layer.hpp"

namespace mpm::dnn {

class EmbedLayer : public SmallLayer {
public:
    explicit EmbedLayer(const cv::dnn::LayerParams& params);
    static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params);

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    int m_first;  ///< row of the first patch
};

}  // namespace mpm::dnn

// OpenCV 5's new engine answers a layer that refuses its attributes with an empty network and no word of why.
#pragma once

#include <string>

#include "mpm_layer/dnn/portable_layer.hpp"

namespace mpm::dnn {

/// In the place of a layer that could not be created; throws the reason when the network is used.
class RefusedLayer : public PortableLayer {
public:
    RefusedLayer(const cv::dnn::LayerParams& params, const cv::Exception& reason);
    /// Throws the reason.
    [[noreturn]] void refuse() const;

private:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

    cv::Exception m_reason;
};

}  // namespace mpm::dnn

// OpenCV 5's new engine answers a layer that refuses its attributes with an empty network and no word of why.
#pragma once

#include <string>

#include "mpm_layer/dnn/portable_layer.hpp"

namespace mpm::dnn {

/// In the place of a layer that could not be created; throws the reason when the network is used.
class RefusedLayer : public PortableLayer {
public:
    RefusedLayer(const cv::dnn::LayerParams& params, const cv::Exception& reason)
        : PortableLayer(params), m_reason(reason) {}
    /// Throws the reason.
    [[noreturn]] void refuse() const { throw m_reason; }

private:
    std::vector<Shape> outputShapes(const std::vector<Shape>&) const override { refuse(); }
    void compute(const std::vector<cv::Mat>&, std::vector<cv::Mat>&) override { refuse(); }

    cv::Exception m_reason;
};

}  // namespace mpm::dnn

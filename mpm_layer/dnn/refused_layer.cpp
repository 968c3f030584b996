#include "mpm_layer/dnn/refused_layer.hpp"

namespace mpm::dnn {

RefusedLayer::RefusedLayer(const cv::dnn::LayerParams& params, const cv::Exception& reason)
    : PortableLayer(params), m_reason(reason) {}

void RefusedLayer::refuse() const {
    throw m_reason;
}

std::vector<Shape> RefusedLayer::outputShapes(const std::vector<Shape>&) const {
    refuse();
}

void RefusedLayer::compute(const std::vector<cv::Mat>&, std::vector<cv::Mat>&) {
    refuse();
}

}  // namespace mpm::dnn

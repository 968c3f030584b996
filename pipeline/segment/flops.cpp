#include "pipeline/segment/flops.hpp"

#include <limits>

namespace mpm::pipeline {

namespace {

// OpenCV 5 has a shape of its own and asks for the type of the network's input.
#if CV_VERSION_MAJOR >= 5
using Shape = cv::MatShape;
template <typename... Rest>
void layerShapes(cv::dnn::Net& net, const Shape& input, Rest&... rest) {
    net.getLayerShapes(input, CV_32F, rest...);
}
double operations(cv::dnn::Net& net, const Shape& input) {
    return static_cast<double>(net.getFLOPS(input, CV_32F));
}
double operations(cv::dnn::Net& net, const Shape& input, int layer) {
    return static_cast<double>(net.getFLOPS(layer, input, CV_32F));
}
#else
using Shape = cv::dnn::MatShape;
template <typename... Rest>
void layerShapes(cv::dnn::Net& net, const Shape& input, Rest&... rest) {
    net.getLayerShapes(input, rest...);
}
double operations(cv::dnn::Net& net, const Shape& input) {
    return static_cast<double>(net.getFLOPS(input));
}
double operations(cv::dnn::Net& net, const Shape& input, int layer) {
    return static_cast<double>(net.getFLOPS(layer, input));
}
#endif

/// The backbone stands before the decoder: it is the first encoder in the network's order.
int backboneId(cv::dnn::Net& net) {
    for (const std::string& name : net.getLayerNames()) {
        const std::string type = net.getLayer(name)->type;
        if (type.find("MpmEncoder") != std::string::npos) return net.getLayerId(name);
    }
    return -1;
}

}  // namespace

FlopsCounter::FlopsCounter(Network& network) {
    const cv::Size size = network.info().size;
    const int sizes[] = {1, 3, size.height, size.width};
    const Shape input(sizes, sizes + 4);
    try {
        cv::dnn::Net& net = network.net();
        const int id = backboneId(net);
        if (id < 0) return;
        std::vector<Shape> in, out;
        layerShapes(net, input, id, in, out);
        if (in.empty() || in[0].size() != 3) return;
        const double tokens = in[0][1];
        m_dim = in[0][2];
        m_special = network.encoder().specialTokens();
        const int blocks = network.encoder().blocks();
        const double whole = operations(net, input, id);
        const double attention = 4.0 * tokens * tokens * m_dim * blocks;
        m_weightsPerBlock = (whole - attention) / (2 * tokens * blocks);
        m_rest = operations(net, input) - whole;
        m_known = true;
    } catch (const cv::Exception&) {
        m_known = false;
    }
}

double FlopsCounter::encoder(const std::vector<int>& tokens) const {
    double sum = 0;
    for (int image : tokens) {
        const double rows = image + m_special;
        sum += 2 * rows * m_weightsPerBlock + 4 * rows * rows * m_dim;
    }
    return sum;
}

double FlopsCounter::image(const mpm::ImageReport& report) const {
    if (!m_known) return std::numeric_limits<double>::quiet_NaN();
    double merging = 0;
    for (const mpm::Stage& stage : report.stages) {
        const double entering = static_cast<double>(stage.map.total());
        merging += entering * (entering - 1) * m_dim;
    }
    return m_rest + encoder(report.tokens) + merging;
}

}  // namespace mpm::pipeline

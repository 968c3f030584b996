#include "pipeline/segment/flops.hpp"

#include <limits>

namespace mpm::pipeline {

namespace {

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
    const std::vector<int> input = {1, 3, size.height, size.width};
    try {
        cv::dnn::Net& net = network.net();
        const int id = backboneId(net);
        if (id < 0) return;
        std::vector<cv::dnn::MatShape> in, out;
        net.getLayerShapes(cv::dnn::MatShape(input), id, in, out);
        const double tokens = in.at(0).at(1);
        m_dim = in[0].at(2);
        m_special = network.encoder().specialTokens();
        const int blocks = network.encoder().blocks();
        const double whole = static_cast<double>(net.getFLOPS(id, cv::dnn::MatShape(input)));
        const double attention = 4.0 * tokens * tokens * m_dim * blocks;
        m_weightsPerBlock = (whole - attention) / (2 * tokens * blocks);
        m_rest = static_cast<double>(net.getFLOPS(cv::dnn::MatShape(input))) - whole;
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

#include "pipeline/segment/flops.hpp"

#include <algorithm>
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
        const double weights = (whole - attention) / (2 * tokens * blocks);
        m_attentionWeights = std::min(weights, 4.0 * m_dim * m_dim);
        m_mlpWeights = weights - m_attentionWeights;
        m_heads = network.encoder().heads();
        m_rest = operations(net, input) - whole;
        m_known = true;
    } catch (const cv::Exception&) {
        m_known = false;
    }
}

double FlopsCounter::encoder(const mpm::ImageReport& report) const {
    double sum = 0;
    for (size_t block = 0; block < report.tokens.size(); ++block) {
        const double rows = report.tokens[block] + m_special;
        double later = rows;  // in the MLP: fewer where the merge stood between attention and MLP
        for (const mpm::Stage& stage : report.stages)
            if (stage.block == static_cast<int>(block))
                later = std::min(rows, double(stage.tokens + m_special));
        sum += 2 * rows * m_attentionWeights + 4 * rows * rows * m_dim + 2 * later * m_mlpWeights;
    }
    return sum;
}

double FlopsCounter::merging(double entering, const std::string& method) const {
    const double half = entering / 2;
    if (method.rfind("mpm", 0) == 0) return entering * (entering - 1) * m_dim;
    if (method.rfind("tome", 0) == 0)
        return 2 * half * half * m_dim / m_heads;                      // even against odd, on mean keys
    if (method.rfind("algm", 0) == 0) return 2 * half * half * m_dim;  // its windows are negligible
    return 0;
}

double FlopsCounter::image(const mpm::ImageReport& report, const std::string& method) const {
    if (!m_known) return std::numeric_limits<double>::quiet_NaN();
    double sum = m_rest + encoder(report);
    for (const mpm::Stage& stage : report.stages)
        sum += merging(static_cast<double>(stage.map.total()), method);
    return sum;
}

}  // namespace mpm::pipeline

// Runs a small operator as the only layer of a network.
#pragma once

#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

namespace mpm::test {

inline cv::Mat randomMat(const std::vector<int>& sizes, int seed) {
    cv::Mat m(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    cv::RNG(seed).fill(m, cv::RNG::UNIFORM, -2.0, 2.0);
    return m;
}

// Runs a layer with a single input. Constants are passed as blobs, as OpenCV 4.x does.
inline cv::Mat run(const std::string& type, cv::dnn::LayerParams params, const cv::Mat& input,
                   const std::vector<cv::Mat>& constants = {}) {
    registerLayers();
    params.blobs = constants;
    cv::dnn::Net net;
    net.addLayerToPrev("layer", "mpm." + type, params);
    net.setInput(input);
    return net.forward().clone();
}

inline double difference(const cv::Mat& a, const cv::Mat& b) {
    CV_Assert(a.total() == b.total());
    return cv::norm(a.reshape(1, 1), b.reshape(1, 1), cv::NORM_INF);
}

}  // namespace mpm::test

// Calls layers directly, without a network, because a network passes only blobs of the declared shapes.
#pragma once

#include <limits>

#include <gtest/gtest.h>
#include <opencv2/dnn/layer.details.hpp>

#include <mpm/mpm.hpp>

#include "support/refusal.hpp"

namespace mpm::test {

using cv::dnn::DictValue;
using cv::dnn::Layer;
using cv::dnn::LayerParams;
#if CV_VERSION_MAJOR >= 5
using Shape = cv::MatShape;
#else
using Shape = cv::dnn::MatShape;
#endif
using Sizes = std::vector<int>;

constexpr int kLargest = std::numeric_limits<int>::max();

inline Shape toShape(const Sizes& sizes) {
    return Shape(sizes.data(), sizes.data() + sizes.size());
}

inline DictValue listOf(const Sizes& values) {
    return DictValue::arrayInt(values.data(), static_cast<int>(values.size()));
}

inline cv::Ptr<Layer> make(const std::string& type, LayerParams params = {}) {
    registerLayers();
    params.type = "mpm." + type;
    params.name = "layer";
    cv::Ptr<Layer> layer = cv::dnn::LayerFactory::createLayerInstance(params.type, params);
    layer->type = params.type;
    layer->blobs = params.blobs;
    return layer;
}

inline std::vector<Shape> shapesFor(const cv::Ptr<Layer>& layer, const std::vector<Sizes>& inputs) {
    std::vector<Shape> in, out, internals;
    for (const Sizes& sizes : inputs)
        in.push_back(toShape(sizes));
    layer->getMemoryShapes(in, 0, out, internals);
    return out;
}

inline void runLayer(const cv::Ptr<Layer>& layer, const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    std::vector<cv::Mat> internals;
    layer->forward(in, out, internals);
}

inline LayerParams with(const std::string& name, const DictValue& value) {
    LayerParams params;
    params.set(name, value);
    return params;
}

inline cv::Mat mat(const Sizes& sizes, int type = CV_32F) {
    return cv::Mat(static_cast<int>(sizes.size()), sizes.data(), type, cv::Scalar(0.5));
}

}  // namespace mpm::test

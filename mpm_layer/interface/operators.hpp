// The table of operators, which are registered with OpenCV, and built one by one in the C interface.
#pragma once

#include <vector>

#include <opencv2/dnn.hpp>

namespace mpm::dnn {

using CreateLayer = cv::Ptr<cv::dnn::Layer>(cv::dnn::LayerParams& params);

struct Operator {
    const char* type;  ///< "MpmEncoder"
    CreateLayer* create;
    CreateLayer* createOrRefuse;  ///< after an exception: a layer that throws it at the first use
};

const std::vector<Operator>& operators();

}  // namespace mpm::dnn

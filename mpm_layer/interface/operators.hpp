// The table of operators: registered with OpenCV, and built singly by the C interface.
#pragma once

#include <vector>

#include <opencv2/dnn.hpp>

namespace mpm::dnn {

using CreateLayer = cv::Ptr<cv::dnn::Layer>(cv::dnn::LayerParams& params);

struct Operator {
    const char* type;  ///< "MpmEncoder"
    CreateLayer* create;
    CreateLayer* createOrRefuse;  ///< keeps an exception for the first use
};

const std::vector<Operator>& operators();

}  // namespace mpm::dnn

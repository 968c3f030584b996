// The table of operators. All are registered with OpenCV, and the C interface can build each.
#pragma once

#include <vector>

#include <opencv2/dnn.hpp>

namespace mpm::dnn {

using CreateLayer = cv::Ptr<cv::dnn::Layer>(cv::dnn::LayerParams& params);

struct Operator {
    const char* type;  ///< "MpmEncoder"
    CreateLayer* create;
    CreateLayer* createOrRefuse;  ///< after an exception: returns a layer that throws the exception when used
};

const std::vector<Operator>& operators();

}  // namespace mpm::dnn

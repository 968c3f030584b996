// The table of operators. OpenCV and the C interface create all operators from this table.
#pragma once

#include <vector>

#include <opencv2/dnn.hpp>

namespace mpm::dnn {

using CreateLayer = cv::Ptr<cv::dnn::Layer>(cv::dnn::LayerParams& params);

struct Operator {
    const char* type;  ///< such as "MpmEncoder"
    CreateLayer* create;
    CreateLayer* createOrRefuse;  ///< if create() throws, returns a layer that throws when it is used
};

const std::vector<Operator>& operators();

}  // namespace mpm::dnn

// A Segmenter-like network with random weights, made layer by layer.
#pragma once

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// Patch embedding, position embedding, MpmEncoder, linear head: logits, a value for each class and patch.
cv::dnn::Net makeRandomNet(const RandomModel& model);

mpm::ModelInfo randomModelInfo(const RandomModel& model);

}  // namespace mpm::pipeline

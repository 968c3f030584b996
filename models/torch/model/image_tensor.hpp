// Images as input of a Segmenter.
#pragma once

#include <opencv2/core.hpp>

#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

/// CV_8UC3 BGR -> [3, H, W], RGB, normalised.
torch::Tensor toTensor(const cv::Mat& image, const Normalisation& normalisation = {});

}  // namespace mpm::models

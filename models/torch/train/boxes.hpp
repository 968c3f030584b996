// The loss and the score of a detector.
#pragma once

#include <vector>

#include <torch/types.h>

#include "models/torch/data/boxes.hpp"
#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

/// Returns the loss. The patch at an object's centre learns a high score. At patches around the centre, a
/// high score costs less than elsewhere (focal loss with a Gaussian around each object: Zhou et al. 2019).
/// The patches around the centre also learn the box, by distance and generalised overlap (Liu et al. 2020).
torch::Tensor boxLoss(const SegmenterImpl::Boxes& found,
                      const std::vector<std::vector<BoxImage::Object>>& objects, cv::Size size);

/// Returns COCO's AP (0 to 1; NaN if all objects are ignored), with each image stretched to the model's size.
double averagePrecision(Segmenter& model, const std::vector<BoxImage>& images);

}  // namespace mpm::models

// What a detector learns from, and how good it is.
#pragma once

#include <vector>

#include <torch/types.h>

#include "models/torch/data/boxes.hpp"
#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

/// The patch of an object's centre learns its score; patches around it cost less if they score too (focal
/// loss with a bell around each object: Zhou et al. 2019). The patches of the bell learn the box (Liu et al.
/// 2020), by distance and generalised overlap.
torch::Tensor boxLoss(const SegmenterImpl::Boxes& found,
                      const std::vector<std::vector<BoxImage::Object>>& objects, cv::Size size);

/// COCO's AP (0 to 1; NaN if no object counts), each image in the model's size.
double averagePrecision(Segmenter& model, const std::vector<BoxImage>& images);

}  // namespace mpm::models

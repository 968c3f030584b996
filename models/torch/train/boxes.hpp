// What a detector learns from, and how good it is.
#pragma once

#include <vector>

#include <torch/types.h>

#include "models/torch/data/boxes.hpp"
#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

/// One patch of each object learns its score, by the cheapest assignment of all: so a trained detector gives
/// one box for an object, and nothing needs to suppress others. All patches of an object learn its box. Focal
/// loss of the scores (Lin et al. 2017), distance and generalised overlap of the boxes, weighted as in DETR.
torch::Tensor boxLoss(const SegmenterImpl::Boxes& found,
                      const std::vector<std::vector<BoxImage::Object>>& objects, cv::Size size);

/// COCO's AP (0 to 1; -1 if no object counts), each image in the model's size.
double averagePrecision(Segmenter& model, const std::vector<BoxImage>& images);

}  // namespace mpm::models

// Single-scale evaluation: the whole image is stretched to the model's size, the labels are stretched back.
#pragma once

#include <functional>
#include <vector>

#include "models/torch/model/segmenter.hpp"
#include "pipeline/dataset/dataset.hpp"
#include "pipeline/metric/confusion.hpp"

namespace mpm::models {

/// Ids (CV_8U) of an image (CV_8UC3), in the size of the image.
cv::Mat predict(Segmenter& model, const cv::Mat& image);

struct Evaluation {
    pipeline::Confusion confusion;
    std::vector<double>
        tokens;  ///< image tokens entering each block, mean over images; empty without merging
};

Evaluation evaluate(Segmenter& model, const std::vector<pipeline::Sample>& samples, int ignored);

}  // namespace mpm::models

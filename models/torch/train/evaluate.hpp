// Single-scale evaluation: the whole picture stretched to the model's size, labels stretched back.
#pragma once

#include <functional>
#include <vector>

#include "models/torch/model/segmenter.hpp"
#include "pipeline/dataset/dataset.hpp"
#include "pipeline/metric/confusion.hpp"

namespace mpm::models {

/// Ids (CV_8U) of one picture (CV_8UC3) at the picture's own size.
cv::Mat predict(Segmenter& model, const cv::Mat& picture);

struct Evaluation {
    pipeline::Confusion confusion;
    std::vector<double>
        tokens;  ///< image tokens entering each block, mean over pictures; empty without merging
};

Evaluation evaluate(Segmenter& model, const std::vector<pipeline::Sample>& samples, int ignored);

}  // namespace mpm::models

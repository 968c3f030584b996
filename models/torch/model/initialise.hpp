// Starting points for training from nothing.
#pragma once

#include <vector>

#include <opencv2/core.hpp>

#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

/// Truncated normal weights, zero biases, sine-cosine positions, and attention that starts as a trained one
/// looks: query and key agree (tokens attend to what is like them and near them), value and projection oppose
/// the residual. Small data sets gain most from the latter ("Mimetic initialization", Trockman and Kolter
/// 2023).
void initialise(Segmenter& model);

/// Patch filters from principal components of the pictures' own patches, softly whitened: the projection
/// starts without loss of what matters instead of with random mixtures. Pictures are CV_8UC3 BGR.
void initialisePatchFilters(Segmenter& model, const std::vector<cv::Mat>& pictures, uint64_t seed);

}  // namespace mpm::models

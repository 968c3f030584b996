// Initial weights for training from scratch.
#pragma once

#include <vector>

#include <opencv2/core.hpp>

#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

/// Truncated normal weights, zero biases, sine-cosine positions, and attention that resembles trained
/// attention: query and key agree (tokens attend to similar and near tokens), value and projection oppose the
/// residual. Small data sets gain most from the latter ("Mimetic initialization", Trockman and Kolter 2023).
void initialise(Segmenter& model);

/// Patch filters from the principal components of the images' patches, softly whitened: unlike random
/// filters, the projection keeps the important components from the start. Images are CV_8UC3 BGR.
void initialisePatchFilters(Segmenter& model, const std::vector<cv::Mat>& images, uint64_t seed);

}  // namespace mpm::models

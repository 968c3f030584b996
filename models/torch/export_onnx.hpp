// A Segmenter as ONNX in standard operators, batch 1, all tokens.
#pragma once

#include <string>

#include "models/torch/segmenter.hpp"
#include "pipeline/dataset/classes.hpp"

namespace mpm::models {

/// Opset 13 with layer norms and GELU written out, so that OpenCV 4.6 reads it. Input `input` [1, 3, H, W],
/// output `logits` [1, classes, H, W]. What the model was trained with goes into the metadata (mpm.labels,
/// mpm.palette, mpm.mean, mpm.std, mpm.size).
void exportOnnx(Segmenter& model, const pipeline::Classes& classes, const std::string& path);

/// Largest difference between LibTorch's logits and OpenCV's of the file, on a random picture.
double exportDifference(Segmenter& model, const std::string& path, uint64_t seed);

}  // namespace mpm::models

// A Segmenter as ONNX in standard operators.
#pragma once

#include <string>

#include "models/torch/model/segmenter.hpp"
#include "pipeline/dataset/classes.hpp"

namespace mpm::models {

/// OpenCV 4.6 cannot multiply by a vector along the last axis: it needs the norms' weights folded into the
/// products behind them. Programs that look for layer norms want them written out as exporters write them.
enum class Norms { Folded, Written };

/// Opset 13, batch 1, all tokens, layer norms and GELU in plain arithmetic. Input `input` [1, 3, H, W],
/// output `logits` [1, classes, H, W]. What the model was trained with goes into the metadata (mpm.labels,
/// mpm.palette, mpm.mean, mpm.std, mpm.size).
void exportOnnx(Segmenter& model, const pipeline::Classes& classes, const std::string& path,
                Norms norms = Norms::Folded);

/// Largest difference between LibTorch's logits and OpenCV's of the file, on a random picture.
double exportDifference(Segmenter& model, const std::string& path, uint64_t seed);

/// exportOnnx, but the file takes its place only where OpenCV's logits are within 1e-4 of LibTorch's; throws
/// otherwise. Returns the difference.
double exportStandard(Segmenter& model, const pipeline::Classes& classes, const std::string& path);

/// The same for the form that OpenCV runs with merging, `blocks` being its default schedule; compared without
/// merging and with it.
double exportFused(Segmenter& model, const pipeline::Classes& classes, const std::vector<int>& blocks,
                   const std::string& path);

}  // namespace mpm::models

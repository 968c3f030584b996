// How far class ids of a converted model are from the export's scores.
#pragma once

#include <opencv2/core.hpp>

#include "models/onnx/ir/tensor.hpp"

namespace mpm::models {

/// Element `k` of a blob of f32, or of int64 where the engine has integers.
double valueOf(const cv::Mat& m, size_t k);

/// A label is right if no class is better by more than the tolerance: by how much one is, relative to the
/// largest score.
double labelDifference(const Tensor& scores, const cv::Mat& labels);

/// The same for labels from masks of queries, by the formula of MpmMaskLabels. Of large images a part of the
/// rows is checked.
double maskLabelDifference(const Tensor& masks, const Tensor& classes, const cv::Mat& labels);

}  // namespace mpm::models

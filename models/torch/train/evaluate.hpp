// Single-scale evaluation: stretches the whole image to the model's size, and the predicted labels to the
// image's size.
#pragma once

#include <functional>
#include <vector>

#include <torch/types.h>

#include "models/torch/model/segmenter.hpp"
#include "pipeline/dataset/dataset.hpp"
#include "pipeline/metric/confusion.hpp"

namespace mpm::models {

/// Returns the class ids (CV_8U) of the pixels of an image (CV_8UC3).
cv::Mat predict(Segmenter& model, const cv::Mat& image);

struct Evaluation {
    pipeline::Confusion confusion;
    std::vector<double> tokens;  ///< mean number of image tokens in each block; empty without merging
};

/// Predicts all samples and compares with their labels. `sampleAt(i)` returns sample i of `count`.
Evaluation evaluate(Segmenter& model, size_t count, const std::function<pipeline::Sample(size_t)>& sampleAt,
                    int ignored);

/// Returns the Lovasz-softmax loss (Berman, Triki and Blaschko 2018): a surrogate for 1 - IoU, as a mean over
/// the classes that occur. Cross entropy neglects classes with few pixels; this loss gives each class the
/// same weight. logits [B, C, H, W], labels [B, H, W].
torch::Tensor lovaszLoss(const torch::Tensor& logits, const torch::Tensor& labels, int64_t ignored);

/// Returns the Kullback-Leibler divergence KL(teacher || student) of class scores [B, C, h, w], as a mean
/// over images and pixels. The teacher's scores may have any height and width.
torch::Tensor teacherLoss(const torch::Tensor& student, const torch::Tensor& teacher);

/// Returns the shares of the classes in each patch: labels [B, H, W] -> [B, N, classes] over a grid of
/// patches. The shares sum to less than 1 in patches with unlabelled pixels.
torch::Tensor patchShares(const torch::Tensor& labels, int64_t classes, int64_t gridHeight,
                          int64_t gridWidth);

/// Returns a loss (neighbourhood components analysis) that is low if tokens with a high cosine have the
/// same classes. tokens [M, D], shares [M, classes]. The lower the loss, the less accuracy is lost if mutual
/// neighbours merge.
torch::Tensor neighbourLoss(const torch::Tensor& tokens, const torch::Tensor& shares);

}  // namespace mpm::models

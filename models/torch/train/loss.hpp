// Losses beside cross entropy.
#pragma once

#include <torch/types.h>

namespace mpm::models {

/// Lovasz-softmax (Berman, Triki and Blaschko 2018): a surrogate of 1 - IoU, mean over the classes that
/// occur. Cross entropy neglects classes of few pixels; here each class has the same weight. logits [B,
/// C, H, W], labels [B, H, W].
torch::Tensor lovaszLoss(const torch::Tensor& logits, const torch::Tensor& labels, int64_t ignored);

/// Distance of the student's classes [B, C, h, w] from the teacher's, of any height and width:
/// Kullback-Leibler divergence, mean over places.
torch::Tensor teacherLoss(const torch::Tensor& student, const torch::Tensor& teacher);

/// Shares of the classes in each patch: labels [B, H, W] -> [B, N, classes] over a grid of patches. They sum
/// to less than 1 in patches with unlabelled pixels.
torch::Tensor patchShares(const torch::Tensor& labels, int64_t classes, int64_t gridHeight,
                          int64_t gridWidth);

/// Neighbourhood components analysis: low if the nearest tokens by cosine have the same classes. tokens [M,
/// D], shares [M, classes]. The lower it is, the less accuracy merging mutual neighbours costs.
torch::Tensor neighbourLoss(const torch::Tensor& tokens, const torch::Tensor& shares);

}  // namespace mpm::models

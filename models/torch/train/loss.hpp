// Losses beside cross entropy.
#pragma once

#include <torch/torch.h>

namespace mpm::models {

/// Lovasz-softmax (Berman, Triki and Blaschko 2018): a surrogate of 1 - IoU, mean over the classes that
/// occur. Cross entropy alone gives up on classes of few pixels; here each class weighs the same. logits [B,
/// C, H, W], labels [B, H, W].
torch::Tensor lovaszLoss(const torch::Tensor& logits, const torch::Tensor& labels, int64_t ignored);

/// How far the student's classes [B, C, h, w] are from the teacher's, of any height and width:
/// Kullback-Leibler divergence, mean over places.
torch::Tensor teacherLoss(const torch::Tensor& student, const torch::Tensor& teacher);

/// What each patch shows: labels [B, H, W] -> shares of the classes [B, N, classes] over a grid of patches,
/// in all less than 1 where not every pixel is known.
torch::Tensor patchShares(const torch::Tensor& labels, int64_t classes, int64_t gridHeight,
                          int64_t gridWidth);

/// How seldom a token's nearest neighbours by cosine show what it shows (neighbourhood components analysis):
/// tokens [M, D], shares [M, classes]. What is merged by mutual nearness loses least where this is low.
torch::Tensor neighbourLoss(const torch::Tensor& tokens, const torch::Tensor& shares);

}  // namespace mpm::models

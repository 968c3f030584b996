// Optimiser, learning rate and the running mean of the weights.
#pragma once

#include <memory>

#include "models/torch/segmenter.hpp"

namespace mpm::models {

/// AdamW; norms, biases, embeddings and tokens do not decay.
std::unique_ptr<torch::optim::AdamW> makeOptimiser(Segmenter& model, double rate, double decay);

void setRate(torch::optim::Optimizer& optimiser, double rate);

/// Linear rise over `warmUp` steps, then a half cosine down to a hundredth of the peak at `steps`.
double rateAt(int64_t step, int64_t steps, int64_t warmUp, double peak);

/// Exponential mean of the weights; young means follow faster.
void updateMean(Segmenter& mean, const Segmenter& model, int64_t step, double decay);

void copyWeights(Segmenter& to, const Segmenter& from);

}  // namespace mpm::models

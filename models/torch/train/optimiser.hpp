// Optimiser, learning rate and the running mean of the weights.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/optim/adamw.h>

#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

struct OptimiserOptions {
    double rate = 1e-3;        ///< of AdamW
    double matrixRate = 2e-3;  ///< of Muon, see Optimiser; 0: AdamW for all weights
    double decay = 0.05;       ///< norms, biases, position and class embeddings, and tokens do not decay
    int workers = 2;
};

/// Muon ("Muon: an optimizer for hidden layers", Jordan et al. 2024) for the matrices inside transformer
/// blocks and the mask decoder's projections, AdamW for all other weights. Muon's orthogonal step moves all
/// directions of a matrix equally, even directions with small gradients, so training needs fewer steps.
class Optimiser {
public:
    Optimiser(Segmenter& model, const OptimiserOptions& options);

    /// Makes a step from the gradients of the weights, with `share` times the learning rates.
    void step(double share);
    void zeroGrad();

    /// State from earlier steps: "momentum0", ..., "adam.0.exp_avg", ...
    using State = std::map<std::string, torch::Tensor>;
    State state() const;
    /// Throws FileError if the state belongs to another model.
    void restore(const State& state);

private:
    struct Matrix {
        torch::Tensor weight, momentum;
        int64_t pieces;  ///< matrices in the parameter: 3 for query, key and value, else 1
    };
    void stepMatrices(double share);
    std::vector<torch::Tensor> adamWeights() const;

    OptimiserOptions m_options;
    std::unique_ptr<torch::optim::AdamW> m_adam;
    std::vector<Matrix> m_matrices;
};

/// Approximates the nearest matrix with orthonormal rows (or columns) by Newton-Schulz iterations. The
/// singular values of the result are between 0.6 and 1.2, except tiny singular values, which stay smaller.
torch::Tensor orthogonalise(const torch::Tensor& matrix);

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// Returns `wanted` if it has a value, else kNoLimit if `minutes` is above 0, else `usual`.
int64_t stepLimit(const std::optional<int64_t>& wanted, double minutes, int64_t usual);

/// Returns the learning rate as a share of the highest rate. The share rises linearly over `warmUp` steps,
/// then falls along half a cosine to 0.01. `way` is the completed share of the run, with or without the
/// warm-up; a value above 1 counts as 1.
double rateShare(int64_t step, int64_t warmUp, double way);

/// Updates the exponential mean of weights and running statistics. In the first steps of a run, the new
/// weights count more.
void updateMean(torch::nn::Module& mean, const torch::nn::Module& model, int64_t step, double decay);

/// Copies all weights. Resizes positions if the models' input sizes differ; skips a decoder of another kind.
/// Throws if heads, blocks or shapes differ.
void copyWeights(Segmenter& to, const Segmenter& from);

}  // namespace mpm::models

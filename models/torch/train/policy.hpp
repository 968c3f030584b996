// The training of the policy of token sharing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/torch/data/batches.hpp"
#include "models/torch/model/policy.hpp"
#include "models/torch/train/optimiser.hpp"

namespace mpm::models {

struct PolicyTrainOptions {
    BatchSource::Options data;
    std::string out;   ///< file of the policy with the best recall on the validation images
    std::string from;  ///< a policy to start from; empty: none
    static constexpr int64_t kUsualSteps = 1500;
    /// Limit of steps; absent: kUsualSteps, or no limit if `minutes` is given; 0: scored, but not trained.
    std::optional<int64_t> steps;
    int64_t warmUp = 50;
    double minutes = 0;  ///< limit of the training; if set, the rate depends on time, not on steps; 0: none
    double rate = 2e-3, decay = 1e-3;  ///< of AdamW
    double meanDecay = 0.99;           ///< of the running mean of the weights
    bool ignoredBorder = false;        ///< of the data set, see policyLabels()
    int64_t shared = 120;              ///< number of best superpatches that precision and recall count
    int height = 480, width = 640;     ///< validation images are stretched to this size
    int64_t validateEvery = 250;       ///< steps
    bool quiet = false;

    int64_t mostSteps() const { return stepLimit(steps, minutes, kUsualSteps); }
};

/// How well a policy finds superpatches of a single class.
struct PolicyScore {
    double accuracy = 0;   ///< share of the labelled superpatches with a right prediction
    double precision = 0;  ///< share of the `shared` best superpatches that have a single class
    /// how many of the `shared` best superpatches have a single class, divided by the largest possible
    /// number: min(`shared`, superpatches of a single class); both numbers are summed over images
    double recall = 0;
};

/// Scores a policy. Stretches each image and its labels to height x width; limits `shared` to the image's
/// number of superpatches.
PolicyScore scorePolicy(PolicyNet& policy, const std::vector<pipeline::Sample>& samples, int ignored,
                        const PolicyTrainOptions& options);

/// Trains a policy, and returns the score of the saved policy.
PolicyScore trainPolicy(const PolicyTrainOptions& options, const std::vector<pipeline::Sample>& train,
                        const std::vector<pipeline::Sample>& validation, int ignored);

}  // namespace mpm::models

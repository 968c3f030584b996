// Trains the policy of token sharing.
#pragma once

#include <string>
#include <vector>

#include "models/torch/data/batches.hpp"
#include "models/torch/model/policy.hpp"

namespace mpm::models {

struct PolicyTrainOptions {
    BatchSource::Options data;
    std::string out;                    ///< the policy with the best recall on the validation images
    std::string from;                   ///< a policy to start from; empty: none
    int64_t steps = 1500, warmUp = 50;  ///< without steps, the policy is only measured
    double minutes = 0;  ///< the training ends then, and the rate follows time instead of steps; 0: steps
    double rate = 2e-3, decay = 1e-3;  ///< of AdamW
    double meanDecay = 0.99;           ///< of the running mean of the weights
    bool ignoredBorder = false;        ///< of the data set, see policyLabels()
    int64_t shared = 120;              ///< superpatches, at which recall is measured
    int height = 480, width = 640;     ///< to which validation images are stretched
    int64_t validateEvery = 250;       ///< steps
    bool quiet = false;
};

/// How well a policy finds superpatches of a single class.
struct PolicyScore {
    double accuracy = 0;   ///< share of all superpatches with a label
    double precision = 0;  ///< share of the `shared` highest-scoring that have a single class
    double recall = 0;     ///< share found of min(shared, superpatches of a single class)
};

/// Each image stretched to height x width, labels, too; `shared` is limited to the number of superpatches of
/// the image.
PolicyScore scorePolicy(PolicyNet& policy, const std::vector<pipeline::Sample>& samples, int ignored,
                        const PolicyTrainOptions& options);

/// Returns the score of the file that it leaves.
PolicyScore trainPolicy(const PolicyTrainOptions& options, const std::vector<pipeline::Sample>& train,
                        const std::vector<pipeline::Sample>& validation, int ignored);

}  // namespace mpm::models

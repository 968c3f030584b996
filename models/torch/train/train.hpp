// The training loop.
#pragma once

#include <string>

#include "models/torch/data/batches.hpp"
#include "models/torch/model/segmenter.hpp"
#include "models/torch/train/curve.hpp"
#include "models/torch/train/optimiser.hpp"

namespace mpm::models {

struct TrainOptions {
    SegmenterOptions model;
    BatchSource::Options data;
    std::string out;  ///< folder of checkpoint, curve and best weights
    int64_t steps = 3000;
    int64_t warmUp = 200;
    double minutes = 0;       ///< the run ends then, and the rate follows time instead of steps; 0: steps
    std::string from;         ///< weights to start from; empty: none
    std::string teacher;      ///< weights of any variant, whose classes are learned too; empty: none
    double teacherShare = 1;  ///< of that beside the labels
    std::vector<int64_t> neighbourBlocks;  ///< whose tokens learn to be nearest to tokens of the same classes
    double neighbourShare = 0.3;           ///< of that beside the labels
    std::string policy;                    ///< file of the policy by which tokens are shared; empty: none
    int64_t shared = 0;  ///< superpatches of an image of the model's size that share, in validation too
    OptimiserOptions optimiser;
    ReducerSettings reducer;   ///< reduces tokens while training; validation keeps all of them
    double meanDecay = 0.998;  ///< of the running mean of the weights
    double classPower = 0.5;   ///< 0 weighs all classes alike
    double classLimit = 6.0;
    double overlap = 0.5;         ///< share of the Lovasz loss beside cross entropy
    int parts = 2;                ///< batches a step, their gradients averaged
    int workers = 2;              ///< parts that run in parallel
    int64_t validateEvery = 500;  ///< steps
    int64_t checkpointEvery = 100;
    bool mixed = true;      ///< products in bf16 if the hardware has it
    int64_t stopAfter = 0;  ///< steps after which to stop without a checkpoint; 0: never
    bool quiet = false;
};

struct TrainData {
    std::vector<pipeline::Sample> train, validation;
    int ignored = 255;
};

/// Trains, or continues from OUT/checkpoint.pt if it exists. Leaves checkpoint.pt, best.pt (the running
/// mean with the highest validation mIoU), curve.csv and curve.png in OUT. Returns the rows of the curve.
std::vector<CurveRow> train(const TrainOptions& options, const TrainData& data);

}  // namespace mpm::models

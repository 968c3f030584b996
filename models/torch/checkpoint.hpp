// All that a training run needs to go on where it stopped.
#pragma once

#include <string>
#include <vector>

#include "models/torch/optimise.hpp"
#include "models/torch/segmenter.hpp"

namespace mpm::models {

struct Progress {
    int64_t step = 0;    ///< steps done
    int64_t images = 0;  ///< pictures seen
    double best = -1;    ///< best validation mIoU so far
    double seconds = 0;  ///< time spent training
};

/// Written beside its place and renamed, so that a kill leaves the old file or the new one, never half of
/// one.
void saveCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser,
                    const Progress& progress);

Progress loadCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser);

/// The running mean of a checkpoint, or the weights of a file saved with saveModel.
Segmenter loadModel(const std::string& path);
/// The mean of the weights of several such files of one variant.
Segmenter loadMean(const std::vector<std::string>& paths);
void saveModel(const std::string& path, Segmenter& model);

}  // namespace mpm::models

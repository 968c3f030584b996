// Files from which a training run can continue, and files of weights.
#pragma once

#include <string>
#include <vector>

#include "models/torch/files/checkpoint_file.hpp"
#include "models/torch/model/segmenter.hpp"
#include "models/torch/train/optimiser.hpp"

namespace mpm::models {

/// Writes atomically: after a kill or a power failure, the file is either the old or the complete new file.
void saveCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser,
                    const Progress& progress);

/// Throws FileError if the file is not a checkpoint, or belongs to another model.
Progress loadCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser);

/// Loads the running mean of a checkpoint, or the weights of a file of saveModel().
Segmenter loadModel(const std::string& path);
/// Loads the mean of the weights of several files, which must have the same variant, size and normalisation.
Segmenter loadMean(const std::vector<std::string>& paths);
void saveModel(const std::string& path, Segmenter& model);

}  // namespace mpm::models

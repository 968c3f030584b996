// The state from which a training run continues.
#pragma once

#include <string>
#include <vector>

#include "models/torch/files/checkpoint_file.hpp"
#include "models/torch/model/segmenter.hpp"
#include "models/torch/train/optimiser.hpp"

namespace mpm::models {

/// Written atomically: after a kill or a power cut the old file or the new one is there.
void saveCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser,
                    const Progress& progress);

/// Throws FileError if the file is no checkpoint, or is of another model.
Progress loadCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser);

/// The running mean of a checkpoint, or the weights of a file saved with saveModel.
Segmenter loadModel(const std::string& path);
/// The mean of the weights of several such files of the same variant.
Segmenter loadMean(const std::vector<std::string>& paths);
void saveModel(const std::string& path, Segmenter& model);

}  // namespace mpm::models

// All that a training run needs to go on where it stopped.
#pragma once

#include <string>
#include <vector>

#include "models/torch/files/checkpoint_file.hpp"
#include "models/torch/model/segmenter.hpp"
#include "models/torch/train/optimiser.hpp"

namespace mpm::models {

/// Written beside its place, synced and renamed: a kill or a power cut leaves the old file or the new one,
/// whole.
void saveCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser,
                    const Progress& progress);

/// Throws FileError where the file is none, or of another model.
Progress loadCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser);

/// The running mean of a checkpoint, or the weights of a file saved with saveModel.
Segmenter loadModel(const std::string& path);
/// The mean of the weights of several such files of one variant.
Segmenter loadMean(const std::vector<std::string>& paths);
void saveModel(const std::string& path, Segmenter& model);

}  // namespace mpm::models

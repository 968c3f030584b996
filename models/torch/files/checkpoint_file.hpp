// Training checkpoints without LibTorch: written as safetensors; read from safetensors and from the LibTorch
// archives of earlier versions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/pending_file.hpp"
#include "models/torch/files/file_tensors.hpp"

namespace mpm::models {

struct Progress {
    std::int64_t step = 0;    ///< steps done
    std::int64_t images = 0;  ///< images seen
    double best = -1;         ///< best validation mIoU, or AP of a detector, so far; -1: none
    double seconds = 0;       ///< time spent training
};

/// The names of tensors are "model.*" and "mean.*" (* is the name of a parameter), and "optimiser.*": * is
/// "momentum0", ... or "adam.0.step", "adam.0.exp_avg", ... in the order of the optimiser's weights.
struct CheckpointFile {
    std::string options;  ///< the model's options, as JSON
    Progress progress;
    bool hasProgress = false;  ///< false if the file has only weights
    FileTensors tensors;
};

/// Reads a checkpoint. Throws FileError if the bytes are not a checkpoint. The bytes must outlive the
/// tensors.
CheckpointFile parseCheckpoint(std::string_view bytes);

/// A tensor to write: dense, in row-major order.
struct DenseTensor {
    std::string name;
    Element element = Element::F32;
    std::vector<std::int64_t> shape;
    std::string_view bytes;
};

/// `progress` may be null. Throws cv::Exception if the file cannot be written.
void writeCheckpoint(PendingFile& file, const std::string& options, const Progress* progress,
                     const std::vector<DenseTensor>& tensors);

}  // namespace mpm::models

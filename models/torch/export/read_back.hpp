// Weights from the fused form that `mpm-models export` writes, to continue training without a checkpoint.
#pragma once

#include <string>

#include "models/torch/model/named_tensors.hpp"

namespace mpm::models {

struct ExportedWeights {
    NamedTensors tensors;  ///< named as the model's parameters
    int64_t heads = 0, height = 0, width = 0;
    std::string normalisation;  ///< vit or deit
};

/// Sharing is left out. Throws FileError if the file is not such an export.
ExportedWeights readExported(const std::string& path);

}  // namespace mpm::models

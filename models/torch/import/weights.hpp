// The import of weights of other frameworks into a Segmenter: Segmenter's checkpoints, timm's and DeiT's
// backbones, JAX's ViT.
#pragma once

#include <string>
#include <vector>

#include "models/torch/files/variant_yml.hpp"
#include "models/torch/model/named_tensors.hpp"
#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

struct ImportReport {
    std::vector<std::pair<std::string, std::string>> used;  ///< parameter of the model, tensor of the file
    std::vector<std::string> missing;                       ///< parameters without a tensor in the file
    std::vector<std::string> leftOver;                      ///< tensors of the file without a parameter
};

struct ImportOptions {
    int64_t height = 0, width = 0;  ///< of the model; 0: as in the file
    int64_t sourceGridHeight = 0;   ///< rows of patches in the file; 0: from variant.yml, else square
    int64_t classes = 11;           ///< classes of the model, if the file has no decoder
    std::string normalisation;      ///< vit or deit; empty: from variant.yml, else vit
    Variant variant;                ///< from variant.yml next to the file, if it exists
};

struct Imported {
    Segmenter model{nullptr};
    ImportReport report;
};

/// Imports tensors with the names of any supported framework. The sizes of the model follow from the tensors;
/// positions are resized to the model's grid. Throws if the backbone is incomplete or a tensor has the wrong
/// shape.
Imported importWeights(const NamedTensors& tensors, const ImportOptions& options);

/// Changes JAX's names and layouts (Transformer/encoderblock_0/...) to PyTorch's.
NamedTensors fromJax(const NamedTensors& tensors);

}  // namespace mpm::models

// The export of a Segmenter to ONNX, and the weights read from such a file.
#pragma once

#include <string>

#include <torch/types.h>

#include "models/onnx/ir/graph.hpp"
#include "models/onnx/ir/tensor.hpp"
#include "models/torch/model/named_tensors.hpp"
#include "models/torch/model/policy.hpp"
#include "models/torch/model/segmenter.hpp"
#include "pipeline/dataset/classes.hpp"

namespace mpm::models {

/// How a file contains the weights of norms. Folded: the next product includes the weights, because OpenCV
/// 4.6 cannot multiply by a vector along the last axis. Written: nodes Mul and Add apply the weights, as in
/// other exports, for converters that look for layer norms.
enum class Norms { Folded, Written };

/// Writes a file that merges no tokens, with opset 13 and batch 1. Nodes with plain arithmetic compute layer
/// norms and GELU. Input `input` [1, 3, H, W]; output `logits` [1, classes, H, W] or, for a detector, `boxes`
/// [1, patches, 4] and `scores` [1, patches, classes]. The metadata describe the training data (mpm.labels,
/// mpm.palette, mpm.mean, mpm.std, mpm.size).
void exportOnnx(Segmenter& model, const pipeline::Classes& classes, const std::string& path,
                Norms norms = Norms::Folded);

/// Returns the largest difference between the outputs of LibTorch and those of OpenCV with the file, on a
/// random image.
double exportDifference(Segmenter& model, const std::string& path, uint64_t seed);

/// Like exportOnnx(), but the file is written only if OpenCV's outputs are within 1e-4 of LibTorch's; throws
/// otherwise. Returns the difference.
double exportStandard(Segmenter& model, const pipeline::Classes& classes, const std::string& path);

/// Like exportStandard(), for the fused form with `blocks` as default schedule. Compares OpenCV's outputs
/// with LibTorch's twice: without merging and with merging.
double exportFused(Segmenter& model, const pipeline::Classes& classes, const std::vector<int>& blocks,
                   const std::string& path);

/// Like exportFused(), but the file has the policy and merges nothing by default. Instead, the four patches
/// share a token in `sharing->shared` superpatches. Compares the outputs for 0, `shared` and all
/// superpatches. Also compares the maps, except for 0.
double exportSharing(Segmenter& model, const std::shared_ptr<Sharing>& sharing,
                     const pipeline::Classes& classes, const std::string& path, int batch = 1);

/// Adds policy and sharing to a Segmenter in the fused form. For each superpatch, `MpmShare` takes either the
/// tokens of the patches or the token of the half-size image. Encoder and decoder take the map of `MpmShare`.
/// `rows` and `columns` are the size of the grid of patches.
void addSharing(Graph& graph, const Sharing& sharing, int64_t rows, int64_t columns);

Tensor tensorOf(const torch::Tensor& tensor);

struct ExportedWeights {
    NamedTensors tensors;  ///< named like the model's parameters
    int64_t heads = 0, height = 0, width = 0;
    std::string normalisation;  ///< vit or deit
};

/// Reads the weights of a fused export, except the weights of a policy. Throws FileError for other files.
ExportedWeights readExported(const std::string& path);

}  // namespace mpm::models

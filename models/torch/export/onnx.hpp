// A Segmenter as ONNX in standard operators.
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

/// OpenCV 4.6 cannot multiply by a vector along the last axis: the weights of norms are folded into the
/// products that follow. Converters that look for layer norms need them written out, as exporters do.
enum class Norms { Folded, Written };

/// Opset 13, batch 1, all tokens, layer norms and GELU in plain arithmetic. Input `input` [1, 3, H, W],
/// output `logits` [1, classes, H, W], or `boxes` [1, patches, 4] and `scores` [1, patches, classes] of a
/// detector. Properties of the training data are in the metadata (mpm.labels,
/// mpm.palette, mpm.mean, mpm.std, mpm.size).
void exportOnnx(Segmenter& model, const pipeline::Classes& classes, const std::string& path,
                Norms norms = Norms::Folded);

/// Largest difference between the outputs of LibTorch and those of OpenCV with the file, on a random image.
double exportDifference(Segmenter& model, const std::string& path, uint64_t seed);

/// As exportOnnx, but the file is written only if OpenCV's outputs are within 1e-4 of LibTorch's; throws
/// otherwise. Returns the difference.
double exportStandard(Segmenter& model, const pipeline::Classes& classes, const std::string& path);

/// The same for the fused form, with `blocks` as default schedule. Compared with and without merging.
double exportFused(Segmenter& model, const pipeline::Classes& classes, const std::vector<int>& blocks,
                   const std::string& path);

/// The fused form with the policy and `sharing.shared` superpatches that share, without merging by default.
/// Compared at no sharing, at `shared` and with all superpatches, maps included.
double exportSharing(Segmenter& model, const std::shared_ptr<Sharing>& sharing,
                     const pipeline::Classes& classes, const std::string& path, int batch = 1);

/// Adds policy and sharing to a Segmenter of the fused form: `MpmShare` chooses between the tokens of patches
/// and those of the half-size image, and encoder and decoder follow the map of `MpmShare`. `rows`, `columns`:
/// of patches.
void addSharing(Graph& graph, const Sharing& sharing, int64_t rows, int64_t columns);

/// f32 or i64.
Tensor tensorOf(const torch::Tensor& tensor);

struct ExportedWeights {
    NamedTensors tensors;  ///< named as the model's parameters
    int64_t heads = 0, height = 0, width = 0;
    std::string normalisation;  ///< vit or deit
};

/// Sharing is left out. Throws FileError if the file is not such an export.
ExportedWeights readExported(const std::string& path);

}  // namespace mpm::models

// Tensors of weight files as tensors of LibTorch. The code in files/ reads the files without LibTorch.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <torch/types.h>

#include "models/torch/files/file_tensors.hpp"

namespace mpm::models {

using NamedTensors = std::map<std::string, torch::Tensor>;

/// Returns a tensor of f32 for floating-point elements, else of i64.
torch::Tensor toTorch(const FileTensor& tensor);

/// Reads PyTorch's zip (.pth, .pt, .bin), safetensors, or .npz. Recognises .npz by the name of the file, the
/// other formats by the first bytes. Converts floating-point tensors to f32. Throws FileError with a reason.
NamedTensors readTensors(const std::string& path);

NamedTensors readTorchZip(std::string_view bytes);
NamedTensors readSafetensors(std::string_view bytes);
NamedTensors readNpz(std::string_view bytes);

}  // namespace mpm::models

// Tensors out of files of weights, for LibTorch. The files are read as data (files/).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <torch/torch.h>

#include "models/torch/files/file_tensors.hpp"

namespace mpm::models {

using NamedTensors = std::map<std::string, torch::Tensor>;

/// f32 where it holds floating-point numbers, else i64.
torch::Tensor toTorch(const FileTensor& tensor);

/// By content: PyTorch's zip (.pth, .pt, .bin), .safetensors, .npz. Floating-point tensors come as f32.
/// Throws FileError with one line that says what is wrong.
NamedTensors readTensors(const std::string& path);

NamedTensors readTorchZip(std::string_view bytes);
NamedTensors readSafetensors(std::string_view bytes);
NamedTensors readNpz(std::string_view bytes);

}  // namespace mpm::models

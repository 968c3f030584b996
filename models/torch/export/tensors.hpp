// LibTorch's tensors as constants of a graph.
#pragma once

#include <torch/types.h>

#include "models/onnx/ir/tensor.hpp"

namespace mpm::models {

/// f32 or i64.
Tensor tensorOf(const torch::Tensor& tensor);

}  // namespace mpm::models

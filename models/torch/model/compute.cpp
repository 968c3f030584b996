#include "models/torch/model/compute.hpp"

namespace mpm::models {

torch::ScalarType ComputeType::fastest(const torch::Device& device) {
    if (device.is_cuda()) return torch::kBFloat16;
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bf16")) return torch::kBFloat16;
#endif
    return torch::kFloat32;
}

torch::Tensor mixedLinear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
    const auto type = ComputeType::current();
    return torch::linear(x.to(type), weight.to(type), bias.to(type));
}

}  // namespace mpm::models

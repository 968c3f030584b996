// Mixed precision: weights and the residual stream are f32, products run in a narrower type.
#pragma once

#include <torch/types.h>

namespace mpm::models {

/// Sets the type of matrix products on this thread, until the destructor sets the previous type again. On
/// CPUs with AVX512-BF16, bf16 products through oneDNN take a quarter of the time of f32 products.
class ComputeType {
public:
    explicit ComputeType(torch::ScalarType type) : m_before(current()) { current() = type; }
    ~ComputeType() { current() = m_before; }
    ComputeType(const ComputeType&) = delete;
    ComputeType& operator=(const ComputeType&) = delete;

    static torch::ScalarType& current() {
        thread_local torch::ScalarType type = torch::kFloat32;
        return type;
    }

    /// Returns bf16 if the hardware multiplies bf16, else f32.
    static torch::ScalarType fastest(const torch::Device& device);

private:
    torch::ScalarType m_before;
};

/// Returns x W^T + b, computed in the compute type.
torch::Tensor mixedLinear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias);

}  // namespace mpm::models

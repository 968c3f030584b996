// An encoder's weights on a device, in the element type of the products.
#pragma once

#include <cstdint>
#include <vector>

#include "mpm_layer/cuda/device/products.hpp"
#include "mpm_layer/cuda/device/resources.hpp"
#include "mpm_layer/cuda/interface/entry.h"
#include "mpm_layer/cuda/kernels/rows.hpp"

namespace mpm::cuda {

struct Norm {
    bool present = false;
    DeviceBuffer<float> weight, bias;

    NormView view(const MpmCudaNormRule& rule) const {
        return {weight.data(), bias.data(), {rule.epsilon, static_cast<NormKind>(rule.kind)}, present};
    }
};

struct Linear {
    int depth = 0, columns = 0;
    size_t stride = 0;                   ///< elements from one column's weights to the next column's
    DeviceBuffer<unsigned char> weight;  ///< [columns][stride]
    DeviceBuffer<unsigned char> bias;    ///< in the type of the output

    bool present() const { return columns != 0; }
};

struct Rotary {
    DeviceBuffer<float> cosine, sine;
    int tables = 0, positions = 0;
};

struct Block {
    Norm norm1, queryNorm, keyNorm, attentionNorm, norm2, mlpNorm;
    Linear qkv, projection, fc1, gate, fc2;
    Rotary rotary;
};

class Weights {
public:
    Weights(int device, const MpmCudaEncoderDescription& description);

    const std::uint64_t id;  ///< unique in the process; not reused after the weights are deleted
    int device, dim, heads, headSize, precision;
    float attentionScale;
    Norm finalNorm;
    std::vector<Block> blocks;
    int widest = 0;  ///< number of columns of the widest hidden layer
    bool gated = false;

    int inner() const { return heads * headSize; }
    /// Returns the types of a product whose output has the type `output`.
    ProductTypes types(cudaDataType_t output) const;
    cudaDataType_t elementType() const;

private:
    Block packBlock(const MpmCudaBlock& from) const;
    Linear packLinear(const MpmCudaLinear& linear, const float* scale, cudaDataType_t output) const;
};

}  // namespace mpm::cuda

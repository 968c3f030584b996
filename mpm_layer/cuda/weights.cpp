#include "mpm_layer/cuda/weights.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "mpm_layer/cuda/kernels/rows.hpp"
#include "mpm_layer/cuda/logic/arithmetic.hpp"

namespace mpm::cuda {
namespace {

template <class T>
void upload(const T* values, size_t count, DeviceBuffer<T>& buffer) {
    if (!values || count == 0) return;
    MPM_CUDA_CHECK(cudaMemcpy(buffer.reserve(count), values, count * sizeof(T), cudaMemcpyHostToDevice));
}

Norm packNorm(const MpmCudaNorm& from, int size) {
    Norm norm;
    norm.present = from.present != 0;
    upload(from.weight, size, norm.weight);
    upload(from.bias, size, norm.bias);
    return norm;
}

Rotary packRotary(const MpmCudaRotary& from, int headSize) {
    Rotary rotary;
    rotary.tables = from.tables;
    rotary.positions = from.positions;
    const size_t size = static_cast<size_t>(from.tables) * from.positions * headSize;
    upload(from.cosine, size, rotary.cosine);
    upload(from.sine, size, rotary.sine);
    return rotary;
}

size_t sizeOf(cudaDataType_t type) {
    return type == CUDA_R_32F ? 4 : 2;
}

void storeAs(cudaDataType_t type, float value, unsigned char* to) {
    if (type == CUDA_R_16BF) {
        const __nv_bfloat16 half = __float2bfloat16_rn(value);
        std::memcpy(to, &half, sizeof half);
    } else if (type == CUDA_R_16F) {
        const __half half = __float2half_rn(value);
        std::memcpy(to, &half, sizeof half);
    } else {
        std::memcpy(to, &value, sizeof value);
    }
}

std::uint64_t nextId() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

Weights::Weights(int deviceIndex, const MpmCudaEncoderDescription& d)
    : id(nextId()),
      device(deviceIndex),
      dim(d.dim),
      heads(d.heads),
      headSize(d.head_size),
      precision(d.precision),
      attentionScale(d.attention_scale) {
    if (headSize > kLargestHeadSize) {
        throw Unsupported("a head size of " + std::to_string(headSize) + "; up to " +
                          std::to_string(kLargestHeadSize) + " is supported");
    }
    const DeviceGuard guard(device);
    for (int b = 0; b < d.block_count; ++b) {
        blocks.push_back(packBlock(d.blocks[b]));
        widest = std::max(widest, blocks.back().fc1.columns);
        gated = gated || blocks.back().gate.present();
    }
    finalNorm = packNorm(d.final_norm, dim);
    // Waits, because copies from pageable memory may still run, and sessions use other streams.
    MPM_CUDA_CHECK(cudaStreamSynchronize(nullptr));
}

cudaDataType_t Weights::elementType() const {
    return precision == MPM_CUDA_BF16 ? CUDA_R_16BF : precision == MPM_CUDA_F16 ? CUDA_R_16F : CUDA_R_32F;
}

ProductTypes Weights::types(cudaDataType_t output) const {
    return {elementType(), output,
            precision == MPM_CUDA_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
}

Block Weights::packBlock(const MpmCudaBlock& from) const {
    const int hidden = from.fc1.columns;
    const cudaDataType_t element = elementType();
    Block block;
    block.norm1 = packNorm(from.norm1, dim);
    block.qkv = packLinear(from.qkv, nullptr, element);
    block.queryNorm = packNorm(from.q_norm, headSize);
    block.keyNorm = packNorm(from.k_norm, headSize);
    block.rotary = packRotary(from.rotary, headSize);
    block.attentionNorm = packNorm(from.attention_norm, inner());
    block.projection = packLinear(from.projection, from.scale1, CUDA_R_32F);
    block.norm2 = packNorm(from.norm2, dim);
    block.fc1 = packLinear(from.fc1, nullptr, element);
    if (from.gate.columns) block.gate = packLinear(from.gate, nullptr, element);
    block.mlpNorm = packNorm(from.mlp_norm, hidden);
    block.fc2 = packLinear(from.fc2, from.scale2, CUDA_R_32F);
    return block;
}

// Packs weights transposed: both operands of a product are then contiguous along the depth, which tensor
// cores read fastest. If `scale` (LayerScale) is not null, multiplies each column by the column's scale.
Linear Weights::packLinear(const MpmCudaLinear& from, const float* scale, cudaDataType_t output) const {
    const cudaDataType_t type = elementType();
    const size_t size = sizeOf(type);
    Linear linear;
    linear.depth = from.depth;
    linear.columns = from.columns;
    linear.stride = paddedWidth(from.depth);
    std::vector<unsigned char> transposed(from.columns * linear.stride * size, 0);
    for (int k = 0; k < from.depth; ++k) {
        const float* row = from.weight + static_cast<size_t>(k) * from.columns;
        for (int n = 0; n < from.columns; ++n)
            storeAs(type, scale ? row[n] * scale[n] : row[n], &transposed[(n * linear.stride + k) * size]);
    }
    upload(transposed.data(), transposed.size(), linear.weight);
    if (!from.bias) return linear;
    std::vector<unsigned char> bias(from.columns * sizeOf(output));
    for (int n = 0; n < from.columns; ++n)
        storeAs(output, scale ? from.bias[n] * scale[n] : from.bias[n], &bias[n * sizeOf(output)]);
    upload(bias.data(), bias.size(), linear.bias);
    return linear;
}

}  // namespace mpm::cuda

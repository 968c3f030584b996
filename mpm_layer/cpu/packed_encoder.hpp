// Weights of an encoder in the layout of the processor's kernels. The constructor checks the weights' sizes.
#pragma once

#include <vector>

#include "mpm_layer/cpu/linear.hpp"
#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/shape.hpp"
#include "mpm_layer/encoder/stage_keys.hpp"

namespace mpm::cpu {

struct Norm {
    bool present = false;
    std::vector<float> weight, bias;

    const float* weightData() const { return weight.empty() ? nullptr : weight.data(); }
    const float* biasData() const { return bias.empty() ? nullptr : bias.data(); }
};

struct RotaryTables {
    std::vector<float> cosine, sine;  ///< [tables][positions][head size]; tables is 1 or the number of heads
    int tables = 0, positions = 0;

    bool present() const { return tables != 0; }
};

struct Block {
    Norm norm1, qNorm, kNorm, attentionNorm, norm2, mlpNorm;
    Linear qkv, projection, fc1, gate, fc2;
    std::vector<float> scale1, scale2;  ///< LayerScale, may be empty
    RotaryTables rotary;
};

class CpuEncoder : public PackedEncoder {
public:
    CpuEncoder(const EncoderConfig& config, const NamedWeights& weights, Precision precision);
    int dim() const override { return m_dim; }

    std::vector<Block> blocks;
    std::vector<StageKeys> stageKeys;
    Norm finalNorm;
    int heads = 0, headSize = 0, inner = 0, hidden = 0;  ///< inner = heads * headSize
    float attentionScale = 0;
    /// A factor for each column of `qkv`, for bf16 attention: attentionScale * kLog2E for queries, else 1.
    std::vector<float> qkvFactors;
    Precision precision;  ///< the usual precision; attentionPrecision() and precisionOf() make exceptions

    std::vector<std::string> keptInF32() const override { return m_keptInF32; }

private:
    Block packBlock(const EncoderConfig& config, const NamedWeights& weights, const EncoderShape& shape,
                    int number);
    /// Returns the common precision of layers that read the same rows. Returns f32 instead of int8 if a layer
    /// loses too much accuracy in int8, or if the configuration does not allow int8. `sensitive`: plain int8
    /// in these layers would change the scores of a detector too much. For sensitive layers, the function
    /// replaces int8 with bf16 if the processor has bf16, or with f32 if the processor has neither bf16 nor
    /// int8 instructions. If the result is still int8, the weights of these layers must have two bytes.
    Precision precisionOf(const NamedWeights& weights, const std::vector<std::string>& layers, int depth,
                          bool sensitive);

    const Precision m_wanted;
    int m_dim = 0;
    std::vector<std::string> m_keptInF32;
};

}  // namespace mpm::cpu

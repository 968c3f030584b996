#include "mpm_layer/cpu/packed_encoder.hpp"

#include <algorithm>

namespace mpm::cpu {
namespace {

Norm packNorm(const NamedWeights& weights, const std::string& name, int size) {
    Norm norm;
    norm.weight = weights.vector(name + ".weight", size);
    norm.bias = weights.vector(name + ".bias", size);
    norm.present = weights.has(name + ".weight") || weights.has(name + ".bias");
    return norm;
}

RotaryTables packRotary(const NamedWeights& weights, const std::string& prefix, const EncoderShape& shape) {
    const RotaryShape rotary = rotaryShape(weights, prefix, shape);
    RotaryTables tables;
    tables.tables = rotary.tables;
    tables.positions = rotary.positions;
    if (rotary.tables == 0) return tables;
    const cv::Mat& cosine = weights.raw(rotary.name + "cos");
    const cv::Mat& sine = weights.raw(rotary.name + "sin");
    tables.cosine.assign(cosine.ptr<float>(), cosine.ptr<float>() + cosine.total());
    tables.sine.assign(sine.ptr<float>(), sine.ptr<float>() + sine.total());
    return tables;
}

}  // namespace

CpuEncoder::CpuEncoder(const EncoderConfig& config, const NamedWeights& weights, Precision wanted)
    : precision(wanted) {
    const EncoderShape shape = encoderShape(config, weights);
    m_dim = shape.dim;
    heads = shape.heads;
    headSize = shape.headSize;
    inner = shape.inner();
    attentionScale = shape.attentionScale;
    for (int b = 0; b < config.blocks; ++b) {
        blocks.push_back(packBlock(weights, shape, config.firstBlock + b));
        hidden = std::max(hidden, blocks.back().fc1.columns());
    }
    finalNorm = packNorm(weights, "norm", m_dim);
}

Block CpuEncoder::packBlock(const NamedWeights& weights, const EncoderShape& shape, int number) const {
    const std::string prefix = std::to_string(number) + ".";
    Block block;
    block.norm1 = packNorm(weights, prefix + "norm1", m_dim);
    block.qkv = Linear(weights, prefix + "qkv", m_dim, 3 * inner, precision);
    block.qNorm = packNorm(weights, prefix + "q_norm", headSize);
    block.kNorm = packNorm(weights, prefix + "k_norm", headSize);
    block.rotary = packRotary(weights, prefix, shape);
    block.attentionNorm = packNorm(weights, prefix + "attn_norm", inner);
    block.projection = Linear(weights, prefix + "proj", inner, m_dim, precision);
    block.scale1 = weights.vector(prefix + "ls1", m_dim);
    block.norm2 = packNorm(weights, prefix + "norm2", m_dim);
    block.fc1 = Linear(weights, prefix + "fc1", m_dim, 0, precision);
    const int width = block.fc1.columns();
    if (weights.has(prefix + "gate.weight"))
        block.gate = Linear(weights, prefix + "gate", m_dim, width, precision);
    block.mlpNorm = packNorm(weights, prefix + "mlp_norm", width);
    block.fc2 = Linear(weights, prefix + "fc2", width, m_dim, precision);
    block.scale2 = weights.vector(prefix + "ls2", m_dim);
    return block;
}

}  // namespace mpm::cpu

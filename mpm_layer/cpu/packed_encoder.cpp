#include "mpm_layer/cpu/packed_encoder.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::cpu {
namespace {

Norm packNorm(const NamedWeights& weights, const std::string& name, int size) {
    Norm norm;
    norm.weight = weights.vector(name + ".weight", size);
    norm.bias = weights.vector(name + ".bias", size);
    norm.present = weights.has(name + ".weight") || weights.has(name + ".bias");
    return norm;
}

RotaryTables packRotary(const NamedWeights& weights, const std::string& prefix, int heads, int headSize) {
    const std::string name = weights.has(prefix + "rope.cos") ? prefix + "rope." : "rope.";
    RotaryTables tables;
    if (!weights.has(name + "cos")) return tables;
    const cv::Mat& cosine = weights.raw(name + "cos");
    const cv::Mat& sine = weights.raw(name + "sin");
    tables.tables = cosine.dims == 3 ? cosine.size[0] : 1;
    tables.positions = cosine.dims == 3 ? cosine.size[1] : cosine.size[0];
    const size_t expected = static_cast<size_t>(tables.tables) * tables.positions * headSize;
    if ((tables.tables != 1 && tables.tables != heads) || cosine.total() != expected ||
        sine.total() != expected) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: weights %scos and %ssin must be [N, %d] or [%d, N, %d]", name.c_str(),
                            name.c_str(), headSize, heads, headSize));
    }
    tables.cosine.assign(cosine.ptr<float>(), cosine.ptr<float>() + expected);
    tables.sine.assign(sine.ptr<float>(), sine.ptr<float>() + expected);
    return tables;
}

}  // namespace

CpuEncoder::CpuEncoder(const EncoderConfig& config, const NamedWeights& weights, Precision wanted)
    : precision(wanted) {
    const std::string first = std::to_string(config.firstBlock);
    const cv::Mat& qkv = weights.raw(first + ".qkv.weight");
    if (qkv.dims != 2) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 "mpm: weight " + first + ".qkv.weight must be a matrix [dim, 3 * heads * head size]");
    }
    m_dim = qkv.size[0];
    if (config.dim && config.dim != m_dim) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: attribute dim is %d, but weight %s.qkv.weight has %d rows", config.dim,
                            first.c_str(), m_dim));
    }
    heads = config.heads;
    inner = qkv.size[1] / 3;
    if (qkv.size[1] % 3 != 0 || inner % heads != 0) {
        CV_Error(cv::Error::StsUnmatchedSizes, cv::format("mpm: attribute heads is %d, which does not divide "
                                                          "the %d columns of weight %s.qkv.weight into "
                                                          "three times heads",
                                                          heads, qkv.size[1], first.c_str()));
    }
    headSize = inner / heads;
    attentionScale = config.scale != 0 ? config.scale : 1.0f / std::sqrt(static_cast<float>(headSize));
    for (int b = 0; b < config.blocks; ++b) {
        blocks.push_back(packBlock(config, weights, config.firstBlock + b));
        hidden = std::max(hidden, blocks.back().fc1.columns());
    }
    finalNorm = packNorm(weights, "norm", m_dim);
}

Block CpuEncoder::packBlock(const EncoderConfig& config, const NamedWeights& weights, int number) const {
    const std::string prefix = std::to_string(number) + ".";
    Block block;
    block.norm1 = packNorm(weights, prefix + "norm1", m_dim);
    block.qkv = Linear(weights, prefix + "qkv", m_dim, 3 * inner, precision);
    block.qNorm = packNorm(weights, prefix + "q_norm", headSize);
    block.kNorm = packNorm(weights, prefix + "k_norm", headSize);
    block.rotary = packRotary(weights, prefix, config.heads, headSize);
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

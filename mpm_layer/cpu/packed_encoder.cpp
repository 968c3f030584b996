#include "mpm_layer/cpu/packed_encoder.hpp"

#include <algorithm>

#include "base/activation.hpp"
#include "mpm_layer/kernels/attention/attention.hpp"

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

std::optional<float> leastOf(Activation activation) {
    for (const ActivationEntry& entry : kActivations)
        if (entry.activation == activation) return entry.least;
    return std::nullopt;
}

}  // namespace

CpuEncoder::CpuEncoder(const EncoderConfig& config, const NamedWeights& weights, Precision wanted)
    : precision(wanted == Precision::I8 && !config.int8 ? Precision::F32 : wanted), m_wanted(wanted) {
    const EncoderShape shape = encoderShape(config, weights);
    m_dim = shape.dim;
    heads = shape.heads;
    headSize = shape.headSize;
    inner = shape.inner();
    attentionScale = shape.attentionScale;
    for (int b = 0; b < config.blocks; ++b) {
        blocks.push_back(packBlock(config, weights, shape, config.firstBlock + b));
        hidden = std::max(hidden, blocks.back().fc1.columns());
        stageKeys.emplace_back(config, weights, shape, config.firstBlock + b);
    }
    finalNorm = packNorm(weights, "norm", m_dim);
    qkvFactors.assign(3 * inner, 1.0f);
    std::fill_n(qkvFactors.begin(), inner, attentionScale * kernels::kLog2E);
}

Precision CpuEncoder::precisionOf(const NamedWeights& weights, const std::vector<std::string>& layers,
                                  int depth, bool sensitive) {
    if (m_wanted != Precision::I8) return m_wanted;
    const auto losesTooMuch = [&](const std::string& layer) {
        const cv::Mat matrix = weights.matrix(layer + ".weight", depth, 0);
        const int columns = matrix.size[1];
        return !(kernels::lossOfI8(matrix.ptr<float>(), columns, depth, columns) <= kLargestI8Loss);
    };
    const bool i8 = precision == Precision::I8 && std::none_of(layers.begin(), layers.end(), losesTooMuch);
    if (i8 && !sensitive) return Precision::I8;
    m_keptInF32.insert(m_keptInF32.end(), layers.begin(), layers.end());
    if (!i8) return Precision::F32;
    if (kernels::hasBf16()) return Precision::BF16;
    // A sensitive layer in int8 needs two products. Without int8 instructions, a single product in f32 takes
    // as long as these two products.
    return kernels::hasI8() ? Precision::I8 : Precision::F32;
}

Block CpuEncoder::packBlock(const EncoderConfig& config, const NamedWeights& weights,
                            const EncoderShape& shape, int number) {
    const std::string prefix = std::to_string(number) + ".";
    const bool early = number < config.int8From;
    const auto bytes = [](bool sensitive) { return sensitive ? WeightBytes::Two : WeightBytes::One; };
    const auto linear = [&](const std::string& name, int depth, int columns, bool sensitive,
                            std::optional<float> least = std::nullopt) {
        return Linear(weights, prefix + name, depth, columns,
                      precisionOf(weights, {prefix + name}, depth, sensitive), least, bytes(sensitive));
    };
    Block block;
    block.norm1 = packNorm(weights, prefix + "norm1", m_dim);
    block.qkv = linear("qkv", m_dim, 3 * inner, early);
    block.qNorm = packNorm(weights, prefix + "q_norm", headSize);
    block.kNorm = packNorm(weights, prefix + "k_norm", headSize);
    block.rotary = packRotary(weights, prefix, shape);
    block.attentionNorm = packNorm(weights, prefix + "attn_norm", inner);
    block.projection = linear("proj", inner, m_dim, config.int8From > 0);
    block.scale1 = weights.vector(prefix + "ls1", m_dim);
    block.norm2 = packNorm(weights, prefix + "norm2", m_dim);
    const bool gated = weights.has(prefix + "gate.weight");
    std::vector<std::string> wide{prefix + "fc1"};
    if (gated) wide.push_back(prefix + "gate");
    const Precision widePrecision = precisionOf(weights, wide, m_dim, early);
    block.fc1 = Linear(weights, prefix + "fc1", m_dim, 0, widePrecision, std::nullopt, bytes(early));
    const int width = block.fc1.columns();
    if (gated)
        block.gate =
            Linear(weights, prefix + "gate", m_dim, width, widePrecision, std::nullopt, bytes(early));
    block.mlpNorm = packNorm(weights, prefix + "mlp_norm", width);
    const bool activeLast = !gated && !block.mlpNorm.present;
    block.fc2 = linear("fc2", width, m_dim, early, activeLast ? leastOf(config.activation) : std::nullopt);
    block.scale2 = weights.vector(prefix + "ls2", m_dim);
    return block;
}

}  // namespace mpm::cpu

#include "mpm_layer/encoder/stage_keys.hpp"

#include <algorithm>
#include <string>

#include "base/loops.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {
namespace {

constexpr int kChunkRows = 96;

const float* dataOf(const std::vector<float>& values) {
    return values.empty() ? nullptr : values.data();
}

}  // namespace

StageKeys::StageKeys(const EncoderConfig& config, const NamedWeights& weights, const EncoderShape& shape,
                     int block)
    : m_rule(config.norm), m_keyRule(config.innerNorm), m_size(shape.headSize) {
    const std::string prefix = std::to_string(block) + ".";
    const int dim = shape.dim, inner = shape.inner();
    m_normWeight = weights.vector(prefix + "norm1.weight", dim);
    m_normBias = weights.vector(prefix + "norm1.bias", dim);
    m_hasNorm = !m_normWeight.empty() || !m_normBias.empty();
    m_keyNormWeight = weights.vector(prefix + "k_norm.weight", m_size);
    m_keyNormBias = weights.vector(prefix + "k_norm.bias", m_size);
    m_hasKeyNorm = !m_keyNormWeight.empty() || !m_keyNormBias.empty();
    m_heads = m_hasKeyNorm ? shape.heads : 1;
    const cv::Mat qkv = weights.matrix(prefix + "qkv.weight", dim, 3 * inner);
    const std::vector<float> bias = weights.vector(prefix + "qkv.bias", 3 * inner);
    if (m_hasKeyNorm) {
        m_weight = kernels::PackedWeights(qkv.ptr<float>() + inner, qkv.step1(), dim, inner);
        if (!bias.empty()) m_bias.assign(bias.begin() + inner, bias.begin() + 2 * inner);
        return;
    }
    cv::Mat mean(dim, m_size, CV_32F);  // the mean key is a product with the mean of the heads' key weights
    for (int d = 0; d < dim; ++d)
        kernels::meanOverHeads(qkv.ptr<float>(d) + inner, shape.heads, m_size, mean.ptr<float>(d));
    m_weight = kernels::PackedWeights(mean.ptr<float>(), mean.step1(), dim, m_size);
    m_bias.resize(bias.empty() ? 0 : m_size);
    if (!bias.empty()) kernels::meanOverHeads(bias.data() + inner, shape.heads, m_size, m_bias.data());
}

void StageKeys::compute(const RowsView& rows, float* out) const {
    const int chunks = (rows.count + kChunkRows - 1) / kChunkRows;
    parallelFor(
        chunks,
        [&](int c) {
            const int first = c * kChunkRows;
            computeChunk(rows, first, std::min(kChunkRows, rows.count - first),
                         out + static_cast<size_t>(first) * m_size);
        },
        1);
}

void StageKeys::computeChunk(const RowsView& rows, int first, int count, float* out) const {
    kernels::Buffer memory;
    const size_t stride = kernels::paddedStride(rows.width),
                 keyStride = kernels::paddedStride(m_heads * m_size);
    float* const normed =
        memory.reserve(kernels::paddedSize(count, stride) + kernels::paddedSize(count, keyStride));
    float* const keys = normed + kernels::paddedSize(count, stride);
    for (int r = 0; r < count; ++r) {
        if (m_hasNorm)
            kernels::normaliseRow(rows.row(first + r), rows.width, dataOf(m_normWeight), dataOf(m_normBias),
                                  m_rule, normed + r * stride);
        else
            std::copy_n(rows.row(first + r), rows.width, normed + r * stride);
    }
    kernels::Epilogue epilogue;
    epilogue.bias = dataOf(m_bias);
    kernels::product(normed, stride, count, m_weight, epilogue, keys, keyStride);
    for (int r = 0; r < count; ++r) {
        float* const key = keys + r * keyStride;
        for (int h = 0; m_hasKeyNorm && h < m_heads; ++h)
            kernels::normaliseRow(key + h * m_size, m_size, dataOf(m_keyNormWeight), dataOf(m_keyNormBias),
                                  m_keyRule, key + h * m_size);
        kernels::meanOverHeads(key, m_heads, m_size, out + static_cast<size_t>(r) * m_size);
    }
}

}  // namespace mpm

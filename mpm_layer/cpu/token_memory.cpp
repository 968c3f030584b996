#include "mpm_layer/cpu/token_memory.hpp"

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"
#include "base/loops.hpp"

namespace mpm::cpu {
namespace {

// Whole cache lines, not a multiple of eight: such rows would share few sets of a cache. Narrower than the
// scratch memory's rows, since this memory stays.
size_t strideOf(int width) {
    const int lines = (width + 15) / 16;
    return static_cast<size_t>(lines % 8 == 0 ? lines + 1 : lines) * 16;
}

// With a cache line behind them, since a kernel may read a whole vector at the end.
size_t wholeLines(size_t floats) {
    return (floats + 31) / 16 * 16;
}

int wholeValuePairs(int rows) {
    const int pairs = kernels::pairsOf(rows);
    return (pairs + kernels::kValuePairs - 1) / kernels::kValuePairs * kernels::kValuePairs;
}

}  // namespace

TokenMemory::TokenMemory(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights, int rows)
    : m_encoder(std::static_pointer_cast<const CpuEncoder>(weights)),
      m_rows(rows),
      m_dim(weights->dim()),
      m_precision(attentionPrecision(*m_encoder)),
      m_valuesArePairs(takesValuePairs(m_precision)),
      m_valuesAreColumns(takesValuesAsColumns(m_precision, m_encoder->headSize)) {
    const CpuEncoder& encoder = *m_encoder;
    m_readableRows = checkedSum<int>(rows, std::max(kernels::rowGroup(), kernels::kKeysRead));
    m_headStep = checkedProduct<size_t>(m_readableRows, encoder.headSize);
    m_keyStride =
        strideOf(encoder.heads * (m_precision == Precision::I8 ? kernels::quadsOf(encoder.headSize)
                                                               : kernels::pairsOf(encoder.headSize)));
    m_scaleStride = strideOf(m_readableRows);
    m_valueStride = strideOf(m_valuesAreColumns ? wholeValuePairs(rows) : encoder.inner);
    m_scalesAt = wholeLines(keysSize());
    const bool scales = m_precision == Precision::I8;
    m_valuesAt = m_scalesAt + (scales ? wholeLines(checkedProduct<size_t>(encoder.heads, m_scaleStride)) : 0);
    m_blockStep = m_valuesAt + wholeLines(valuesSize());
    m_outputsAt = checkedProduct<size_t>(m_blockStep, config.blocks);
    m_outputStep = wholeLines(checkedProduct<size_t>(rows, m_dim));
    const auto all =
        checkedSum<size_t>(m_outputsAt, checkedProduct<size_t>(m_outputStep, config.taps.size()));
    m_start = m_all.reserve(all);
    std::fill_n(m_start, all, 0.0f);
}

size_t TokenMemory::keysSize() const {
    return m_precision == Precision::F32 ? checkedProduct<size_t>(m_encoder->heads, m_headStep)
                                         : checkedProduct<size_t>(m_readableRows, m_keyStride);
}

size_t TokenMemory::valuesSize() const {
    if (!m_valuesArePairs) return checkedProduct<size_t>(m_encoder->heads, m_headStep);
    const int rows = m_valuesAreColumns ? m_encoder->inner : wholeValuePairs(m_rows);
    return checkedProduct<size_t>(rows, m_valueStride);
}

TokenMemory::Block TokenMemory::block(int index) const {
    float* const start = m_start + m_blockStep * index;
    return {start, start + m_scalesAt, start + m_valuesAt};
}

void TokenMemory::recall(int tap, float* to) const {
    parallelCopy(outputs(tap), static_cast<size_t>(m_rows) * m_dim, to);
}

void TokenMemory::keep(int index, const HeadRows& heads, int first, const int* rows, int count) {
    const Block to = block(index);
    for (int i = 0; i < count; ++i) {
        keepKey(to, heads, first + i, rows[i]);
        if (m_valuesArePairs) {
            keepValue(to, heads.at(HeadPart::Values, 0, first + i), rows[i]);
            continue;
        }
        for (int h = 0; h < m_encoder->heads; ++h)
            std::copy_n(heads.at(HeadPart::Values, h, first + i), m_encoder->headSize,
                        to.values + h * m_headStep + static_cast<size_t>(rows[i]) * m_encoder->headSize);
    }
}

void TokenMemory::keepKey(const Block& block, const HeadRows& heads, int from, int to) {
    const int size = m_encoder->headSize;
    auto* words = reinterpret_cast<std::uint32_t*>(block.keys) + to * m_keyStride;
    for (int h = 0; h < m_encoder->heads; ++h) {
        const float* key = heads.at(HeadPart::Keys, h, from);
        if (m_precision == Precision::F32) {
            std::copy_n(key, size, block.keys + h * m_headStep + static_cast<size_t>(to) * size);
        } else if (m_precision == Precision::I8) {
            block.keyScales[h * m_scaleStride + to] =
                kernels::packQuads(key, size, words + h * kernels::quadsOf(size));
        } else {
            kernels::packPairs(key, size, words + h * kernels::pairsOf(size));
        }
    }
}

// A token's values are every other half of words; the neighbour's values are the other halves.
void TokenMemory::keepValue(const Block& block, const float* value, int to) {
    static thread_local std::vector<kernels::Bf16Pair> rounded;
    const int inner = m_encoder->inner;
    rounded.resize(inner);
    kernels::interleaveRows(value, nullptr, inner, rounded.data());
    const size_t pair = to / 2, half = to % 2;
    auto* halves = reinterpret_cast<std::uint16_t*>(block.values) + half;
    const size_t start = m_valuesAreColumns ? pair : pair * m_valueStride;
    const size_t step = m_valuesAreColumns ? m_valueStride : 1;
    for (int c = 0; c < inner; ++c)
        halves[2 * (start + c * step)] = static_cast<std::uint16_t>(rounded[c]);
}

kernels::AttentionHead TokenMemory::head(const Block& block, int index, const HeadQueries& queries,
                                         const float* keyBias) const {
    // If keys and values are f32, queries have the same stride: each head has separate memory.
    const size_t step = index * m_headStep;
    return {queries.rows,
            m_precision == Precision::F32 ? block.keys + step : nullptr,
            m_valuesArePairs ? nullptr : block.values + step,
            queries.stride,
            m_rows,
            m_encoder->headSize,
            m_encoder->attentionScale,
            keyBias,
            queries.count};
}

void TokenMemory::attend(int at, int index, const HeadQueries& queries, int first, const float* keyBias,
                         float* output, size_t outputStride) const {
    const Block from = block(at);
    const kernels::AttentionHead f32 = head(from, index, queries, keyBias);
    const auto* keys = reinterpret_cast<const std::uint32_t*>(from.keys);
    const auto* pairs = reinterpret_cast<const kernels::Bf16Pair*>(from.values);
    const int size = m_encoder->headSize;
    const size_t column = static_cast<size_t>(index) * size;
    const size_t values = m_valuesAreColumns ? column * m_valueStride : column;
    if (m_precision == Precision::BF16) {
        kernels::attendPanelBf16({f32, keys + index * kernels::pairsOf(size), m_keyStride, pairs + values,
                                  m_valueStride, m_valuesAreColumns},
                                 first, output, outputStride);
    } else if (m_precision == Precision::I8) {
        kernels::AttentionHeadI8 packed{f32, keys + index * kernels::quadsOf(size), m_keyStride,
                                        from.keyScales + index * m_scaleStride};
        if (m_valuesArePairs) {
            packed.values = pairs + values;
            packed.valueStride = m_valueStride;
        }
        kernels::attendPanelI8(packed, first, output, outputStride);
    } else {
        kernels::attendPanel(f32, first, output, outputStride);
    }
}

}  // namespace mpm::cpu

#include "mpm_layer/cpu/token_memory.hpp"

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"

namespace mpm::cpu {
namespace {

// Whole cache lines, not a multiple of eight: such rows would share few sets of a cache. Narrower than the
// scratch memory's rows, since this memory stays.
size_t strideOf(int width) {
    const int lines = (width + 15) / 16;
    return static_cast<size_t>(lines % 8 == 0 ? lines + 1 : lines) * 16;
}

void reserveZeros(kernels::Buffer& buffer, size_t count) {
    std::fill_n(buffer.reserve(count), count, 0.0f);
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
      m_valuesArePairs(takesValuePairs(m_encoder->precision)),
      m_valuesAreColumns(m_encoder->precision == Precision::BF16 &&
                         kernels::takesValuesAsColumns(m_encoder->headSize)),
      m_blocks(config.blocks),
      m_outputs(config.taps.size()) {
    const CpuEncoder& encoder = *m_encoder;
    const size_t readable = checkedSum<int>(rows, std::max(kernels::rowGroup(), kernels::kKeysRead));
    m_headStep = checkedProduct<size_t>(readable, encoder.headSize);
    m_keyStride =
        strideOf(encoder.heads * (encoder.precision == Precision::I8 ? kernels::quadsOf(encoder.headSize)
                                                                     : kernels::pairsOf(encoder.headSize)));
    m_scaleStride = strideOf(checkedCast<int>(readable));
    const int pairs = wholeValuePairs(rows);
    m_valueStride = strideOf(m_valuesAreColumns ? pairs : encoder.inner);
    for (Block& block : m_blocks) {
        const bool inF32 = encoder.precision == Precision::F32;
        reserveZeros(block.keys, inF32 ? checkedProduct<size_t>(encoder.heads, m_headStep)
                                       : checkedProduct<size_t>(readable, m_keyStride));
        if (encoder.precision == Precision::I8)
            reserveZeros(block.keyScales, checkedProduct<size_t>(encoder.heads, m_scaleStride));
        reserveZeros(block.values,
                     !m_valuesArePairs
                         ? checkedProduct<size_t>(encoder.heads, m_headStep)
                         : checkedProduct<size_t>(m_valuesAreColumns ? encoder.inner : pairs, m_valueStride));
    }
    for (kernels::Buffer& output : m_outputs)
        reserveZeros(output, checkedProduct<size_t>(rows, m_dim));
}

void TokenMemory::recall(int tap, float* to) const {
    std::copy_n(m_outputs[tap].data(), static_cast<size_t>(m_rows) * m_dim, to);
}

void TokenMemory::keep(int block, const HeadRows& heads, int first, const int* rows, int count) {
    Block& to = m_blocks[block];
    for (int i = 0; i < count; ++i) {
        keepKey(to, heads, first + i, rows[i]);
        if (m_valuesArePairs) {
            keepValue(to, heads.at(HeadPart::Values, 0, first + i), rows[i]);
            continue;
        }
        for (int h = 0; h < m_encoder->heads; ++h)
            std::copy_n(
                heads.at(HeadPart::Values, h, first + i), m_encoder->headSize,
                to.values.data() + h * m_headStep + static_cast<size_t>(rows[i]) * m_encoder->headSize);
    }
}

void TokenMemory::keepKey(Block& block, const HeadRows& heads, int from, int to) {
    const int size = m_encoder->headSize;
    auto* words = reinterpret_cast<std::uint32_t*>(block.keys.data()) + to * m_keyStride;
    for (int h = 0; h < m_encoder->heads; ++h) {
        const float* key = heads.at(HeadPart::Keys, h, from);
        if (m_encoder->precision == Precision::F32) {
            std::copy_n(key, size, block.keys.data() + h * m_headStep + static_cast<size_t>(to) * size);
        } else if (m_encoder->precision == Precision::I8) {
            block.keyScales.data()[h * m_scaleStride + to] =
                kernels::packQuads(key, size, words + h * kernels::quadsOf(size));
        } else {
            kernels::packPairs(key, size, words + h * kernels::pairsOf(size));
        }
    }
}

// A token's values are every other half of the words they share with its neighbour's.
void TokenMemory::keepValue(Block& block, const float* value, int to) {
    static thread_local std::vector<kernels::Bf16Pair> rounded;
    const int inner = m_encoder->inner;
    rounded.resize(inner);
    kernels::interleaveRows(value, nullptr, inner, rounded.data());
    const size_t pair = to / 2, half = to % 2;
    auto* halves = reinterpret_cast<std::uint16_t*>(block.values.data()) + half;
    const size_t start = m_valuesAreColumns ? pair : pair * m_valueStride;
    const size_t step = m_valuesAreColumns ? m_valueStride : 1;
    for (int c = 0; c < inner; ++c)
        halves[2 * (start + c * step)] = static_cast<std::uint16_t>(rounded[c]);
}

kernels::AttentionHead TokenMemory::head(const Block& block, int index, const HeadQueries& queries,
                                         const float* keyBias) const {
    // If keys and values are f32, queries have the same stride: each head has memory of its own.
    const size_t step = index * m_headStep;
    return {queries.rows,
            m_encoder->precision == Precision::F32 ? block.keys.data() + step : nullptr,
            m_valuesArePairs ? nullptr : block.values.data() + step,
            queries.stride,
            m_rows,
            m_encoder->headSize,
            m_encoder->attentionScale,
            keyBias,
            queries.count};
}

void TokenMemory::attend(int block, int index, const HeadQueries& queries, int first, const float* keyBias,
                         float* output, size_t outputStride) const {
    const Block& from = m_blocks[block];
    const kernels::AttentionHead f32 = head(from, index, queries, keyBias);
    const auto* keys = reinterpret_cast<const std::uint32_t*>(from.keys.data());
    const auto* pairs = reinterpret_cast<const kernels::Bf16Pair*>(from.values.data());
    const int size = m_encoder->headSize;
    const size_t column = static_cast<size_t>(index) * size;
    if (m_encoder->precision == Precision::BF16) {
        kernels::attendPanelBf16({f32, keys + index * kernels::pairsOf(size), m_keyStride,
                                  pairs + (m_valuesAreColumns ? column * m_valueStride : column),
                                  m_valueStride, m_valuesAreColumns},
                                 first, output, outputStride);
    } else if (m_encoder->precision == Precision::I8) {
        kernels::AttentionHeadI8 packed{f32, keys + index * kernels::quadsOf(size), m_keyStride,
                                        from.keyScales.data() + index * m_scaleStride};
        if (m_valuesArePairs) {
            packed.values = pairs + column;
            packed.valueStride = m_valueStride;
        }
        kernels::attendPanelI8(packed, first, output, outputStride);
    } else {
        kernels::attendPanel(f32, first, output, outputStride);
    }
}

}  // namespace mpm::cpu

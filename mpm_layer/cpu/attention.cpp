#include "mpm_layer/cpu/attention.hpp"

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"
#include "base/loops.hpp"

namespace mpm::cpu {
namespace {

constexpr int kTaskKeys = 2 * kernels::kValuePairs;

struct Task {
    int span, head, first;
};

std::vector<int> keysOf(const std::vector<Span>& spans) {
    std::vector<int> keys;
    if (spans.empty() || spans.back().first == spans.back().firstKey) return keys;
    for (const Span& span : spans)
        for (int r = 0; r < span.rows; ++r)
            keys.push_back(span.firstKey + r);
    return keys;
}

}  // namespace

Precision attentionPrecision(const CpuEncoder& encoder) {
    const bool tiles = encoder.precision == Precision::I8 && kernels::takesValuesAsColumns(encoder.headSize);
    return tiles ? Precision::BF16 : encoder.precision;
}

ValueForm valueForm(Precision precision) {
    if (precision == Precision::BF16) return ValueForm::Pairs;
    return precision == Precision::I8 && kernels::takesValueQuads() ? ValueForm::Quads : ValueForm::Floats;
}

bool takesValuesAsColumns(Precision precision, int headSize) {
    return precision == Precision::BF16 && kernels::takesValuesAsColumns(headSize);
}

PairRow::PairRow(const CpuEncoder& encoder)
    : heads(encoder.heads), size(encoder.headSize), queryFactor(encoder.attentionScale * kernels::kLog2E) {}

void PairRow::round(const float* row, const kernels::PairRows& to) const {
    const int inner = heads * size;
    const auto pack = [&](const float* from, int width, int word, float factor) {
        kernels::packPairs(from, width, to.from(0, word).data, factor, to.pieceStep);
    };
    const int parts = hasNoGaps() ? 1 : heads, width = inner / parts;
    for (int p = 0; p < parts; ++p) {
        const int word = p * kernels::pairsOf(width);
        pack(row + p * width, width, word, queryFactor);
        pack(row + inner + p * width, width, keysAt() + word, 1);
    }
    pack(row + 2 * inner, inner, valuesAt(), 1);
}

HeadRows::HeadRows(kernels::Buffer& memory, const CpuEncoder& encoder, const std::vector<Span>& spans)
    : m_keys(keysOf(spans)),
      m_count(spans.empty() ? 0 : spans.back().firstKey + spans.back().keys),
      m_inPairs(attentionPrecision(encoder) == Precision::BF16),
      m_together(valueForm(attentionPrecision(encoder)) == ValueForm::Floats),
      m_pairRow(encoder),
      m_heads(encoder.heads),
      m_size(encoder.headSize) {
    const int readable = checkedSum<int>(m_count, kernels::rowGroup());  // kernels read whole groups of keys
    if (m_inPairs) {
        const int keys = checkedSum<int>(m_count, kernels::kKeysRead), words = m_pairRow.words();
        const bool inPieces = takesValuesAsColumns(Precision::BF16, m_size);
        m_stride = inPieces ? kernels::kPiecePairs : kernels::paddedStride(words);
        if (inPieces) m_pieceStep = kernels::paddedSize(keys, m_stride);
        m_data = memory.reserve(inPieces ? checkedProduct<size_t>(m_pieceStep, words / kernels::kPiecePairs)
                                         : kernels::paddedSize(keys, m_stride));
    } else if (m_together) {
        m_stride = m_size;
        m_headStep = static_cast<size_t>(readable) * m_size;
        m_partStep = m_heads * m_headStep;
        m_data = memory.reserve(3 * m_partStep);
    } else {
        m_stride = kernels::paddedStride(3 * encoder.inner);
        m_headStep = m_size;
        m_partStep = encoder.inner;
        m_data = memory.reserve(kernels::paddedSize(readable, m_stride));
    }
}

void HeadRows::gather(const float* rows, size_t stride, int first, int count) {
    if (!m_together) {
        for (int r = 0; r < count; ++r)
            put(keyOf(first + r), rows + r * stride);
        return;
    }
    for (int block = 0; block < 3 * m_heads; ++block) {
        const float* from = rows + block * m_size;
        float* to = m_data + block * m_headStep;
        for (int r = 0; r < count; ++r)
            std::copy_n(from + r * stride, m_size, to + keyOf(first + r) * m_stride);
    }
}

void HeadRows::put(int key, const float* row) {
    if (m_inPairs) return m_pairRow.round(row, pairs(key));
    for (int block = 0; block < 3 * m_heads; ++block)
        std::copy_n(row + block * m_size, m_size, m_data + block * m_headStep + key * m_stride);
}

Attention::Attention(const CpuEncoder& encoder, const std::vector<Span>& spans, const HeadRows& rows,
                     const float* keyBias, AttentionScratch& scratch)
    : m_encoder(encoder),
      m_precision(attentionPrecision(encoder)),
      m_spans(spans),
      m_rows(rows),
      m_keyBias(keyBias),
      m_scratch(scratch) {}

void Attention::run(float* output, size_t outputStride) {
    if (m_precision != Precision::F32) pack();
    std::vector<Task> tasks;
    for (int s = 0; s < static_cast<int>(m_spans.size()); ++s) {
        for (int h = 0; h < m_encoder.heads; ++h) {
            for (int q = 0; q < m_spans[s].rows; q += kernels::queryPanel())
                tasks.push_back({s, h, q});
        }
    }
    parallelFor(checkedCast<int>(tasks.size()), [&](int t) {
        const Task& task = tasks[t];
        const int row = m_spans[task.span].first + task.first;
        float* to = output + row * outputStride + task.head * m_encoder.headSize;
        attend(task.span, task.head, task.first, to, outputStride);
    });
}

void Attention::attend(int span, int index, int first, float* output, size_t outputStride) const {
    if (m_precision == Precision::BF16) {
        kernels::attendPanelBf16(headBf16(span, index), first, output, outputStride);
    } else if (inI8()) {
        kernels::attendPanelI8(headI8(span, index), first, output, outputStride);
    } else {
        kernels::attendPanel(head(span, index), first, output, outputStride);
    }
}

kernels::AttentionHead Attention::head(int number, int index) const {
    const Span& span = m_spans[number];
    return {m_rows.at(HeadPart::Queries, index, span.firstKey),
            m_rows.at(HeadPart::Keys, index, span.firstKey),
            m_rows.at(HeadPart::Values, index, span.firstKey),
            m_rows.stride(),
            span.keys,
            m_encoder.headSize,
            m_encoder.attentionScale,
            m_keyBias ? m_keyBias + span.firstKey : nullptr,
            span.rows};
}

size_t Attention::valuesAt(int span, int index) const {
    const size_t word = m_firstValue[span], column = checkedProduct<size_t>(index, m_encoder.headSize);
    return m_valuesAreColumns ? column * m_valueStride + word : word * m_valueStride + column;
}

kernels::AttentionHeadBf16 Attention::headBf16(int span, int index) const {
    const auto* values = reinterpret_cast<const kernels::Bf16Pair*>(m_scratch.values.data());
    const int first = m_spans[span].firstKey;
    return {head(span, index),
            m_rows.pairsAt(HeadPart::Queries, index, first),
            m_rows.pairsAt(HeadPart::Keys, index, first),
            values + valuesAt(span, index),
            m_valueStride,
            m_valuesAreColumns};
}

kernels::AttentionHeadI8 Attention::headI8(int span, int index) const {
    const auto* keys = reinterpret_cast<const kernels::I8Quad*>(m_scratch.keys.data());
    const int first = m_spans[span].firstKey;
    kernels::AttentionHeadI8 packed{head(span, index), keys + first * m_keyStride + index * quadsPerKey(),
                                    m_keyStride, m_scratch.keyScales.data() + index * scaleStride() + first};
    if (m_values == ValueForm::Quads) {
        const auto* values = reinterpret_cast<const kernels::I8Quad*>(m_scratch.values.data());
        packed.values = values + valuesAt(span, index);
        packed.valueStride = m_valueStride;
        packed.valueBiases = m_scratch.valueSteps.data() + index * scaleStride() + first;
        packed.valueInverses = packed.valueBiases + m_encoder.heads * scaleStride();
    }
    return packed;
}

void Attention::pack() {
    std::vector<Task> tasks;
    int words = 0;
    m_values = valueForm(m_precision);
    m_valuesAreColumns = takesValuesAsColumns(m_precision, m_encoder.headSize);
    for (int s = 0; s < static_cast<int>(m_spans.size()); ++s) {
        m_firstValue.push_back(words);
        const int own = wordsOfValues(m_spans[s].keys), step = wordsOfValues(kTaskKeys);
        for (int t = 0; t < m_spans[s].keys; t += kTaskKeys)
            tasks.push_back({s, 0, t});
        words = checkedSum<int>(words, (own + step - 1) / step * step);
    }
    const int inner = m_encoder.inner;
    m_valueStride = kernels::paddedStride(m_valuesAreColumns ? words : inner);
    const size_t scales = checkedProduct<size_t>(m_encoder.heads, scaleStride());
    if (inI8()) {
        m_keyStride = kernels::paddedStride(m_encoder.heads * quadsPerKey());
        m_scratch.keys.reserve(kernels::paddedSize(m_rows.count() + kernels::kKeysRead, m_keyStride));
        m_scratch.keyScales.reserve(scales);
    }
    if (m_values == ValueForm::Quads) m_scratch.valueSteps.reserve(checkedProduct<size_t>(2, scales));
    if (m_values != ValueForm::Floats)
        m_scratch.values.reserve(kernels::paddedSize(m_valuesAreColumns ? inner : words, m_valueStride));
    parallelFor(checkedCast<int>(tasks.size()), [&](int t) { packSpan(tasks[t].span, tasks[t].first); });
}

void Attention::packKey(int number) {
    const int size = m_encoder.headSize;
    auto* to = reinterpret_cast<kernels::I8Quad*>(m_scratch.keys.data()) + number * m_keyStride;
    for (int h = 0; h < m_encoder.heads; ++h, to += quadsPerKey())
        m_scratch.keyScales.data()[h * scaleStride() + number] =
            kernels::packQuads(m_rows.at(HeadPart::Keys, h, number), size, to);
}

void Attention::packSpan(int number, int token) {
    const Span& span = m_spans[number];
    const int inner = m_encoder.inner, key = span.firstKey + token,
              count = std::min(kTaskKeys, span.keys - token);
    for (int k = 0; k < count && inI8(); ++k)
        packKey(key + k);
    if (m_values == ValueForm::Floats) return;
    const int word = m_firstValue[number] + wordsOfValues(token);
    auto* values = reinterpret_cast<std::uint32_t*>(m_scratch.values.data()) +
                   (m_valuesAreColumns ? word : word * m_valueStride);
    if (m_values == ValueForm::Pairs) {
        kernels::packValues(m_rows.pairsAt(HeadPart::Values, 0, key), count, inner, m_valuesAreColumns,
                            values, m_valueStride);
    } else {
        for (int k = 0; k < count; k += 4, values += m_valueStride)
            packQuadOfValues(key + k, std::min(4, count - k), values);
    }
}

void Attention::packQuadOfValues(int key, int count, kernels::I8Quad* to) {
    static thread_local std::vector<std::int8_t> bytes;
    const int size = m_encoder.headSize, inner = m_encoder.inner;
    bytes.assign(4 * static_cast<size_t>(inner) + 4, 0);
    const std::int8_t* tokens[4];
    for (int t = 0; t < 4; ++t) {
        std::int8_t* const token = bytes.data() + t * inner;
        tokens[t] = token;
        for (int h = 0; h < m_encoder.heads && t < count; ++h) {
            const auto step =
                kernels::roundValues(m_rows.at(HeadPart::Values, h, key + t), size, token + h * size);
            float* const at = m_scratch.valueSteps.data() + h * scaleStride() + key + t;
            at[0] = step.bias;
            at[m_encoder.heads * scaleStride()] = step.inverse;
        }
    }
    kernels::interleaveBytes(tokens, inner, to);
}

}  // namespace mpm::cpu

#include "mpm_layer/cpu/reuse_session.hpp"

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"
#include "base/loops.hpp"

namespace mpm::cpu {
namespace {

// Returns the distance between rows, in floats. The distance is a whole number of cache lines, but not a
// multiple of eight lines: rows at such a distance would compete for only a few sets of a cache. A stream's
// memory is kept from frame to frame and should be small, so the distance is usually below paddedStride().
size_t strideOf(int width) {
    const int lines = (width + 15) / 16;
    return static_cast<size_t>(lines % 8 == 0 ? lines + 1 : lines) * 16;
}

// Rounds up to whole cache lines and adds a line, because a kernel may read a whole vector at the end.
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
      m_values(valueForm(m_precision)),
      m_valuesAreColumns(takesValuesAsColumns(m_precision, m_encoder->headSize)),
      m_keyStride(strideOf(m_encoder->heads * (m_precision == Precision::I8
                                                   ? kernels::quadsOf(m_encoder->headSize)
                                                   : kernels::pairsOf(m_encoder->headSize)))),
      m_outputStep(wholeLines(checkedProduct<size_t>(rows, m_dim))) {
    const Windows windows(config, rows - config.specialRows() - config.trailingTokens);
    m_global = layoutOf(config, windows, true);
    if (config.windowed()) m_windowed = layoutOf(config, windows, false);
    for (int b = 0; b < config.blocks; ++b) {
        const Layout& layout = config.isGlobal(config.firstBlock + b) ? m_global : m_windowed;
        m_blocks.push_back({&layout, m_outputsAt});
        m_outputsAt = checkedSum<size_t>(m_outputsAt, layout.size);
    }
    const auto all =
        checkedSum<size_t>(m_outputsAt, checkedProduct<size_t>(m_outputStep, config.taps.size()));
    m_start = m_all.reserve(all);
    std::fill_n(m_start, all, 0.0f);
}

TokenMemory::Layout TokenMemory::layoutOf(const EncoderConfig& config, const Windows& windows,
                                          bool global) const {
    Layout layout;
    place(config, windows, global, layout);
    layout.headStep = checkedProduct<size_t>(readableKeys(layout), m_encoder->headSize);
    layout.scaleStride = strideOf(readableKeys(layout));
    layout.valueStride = strideOf(m_valuesAreColumns ? layout.values / 2 : m_encoder->inner);
    layout.scalesAt = wholeLines(keysSize(layout));
    // Each key has a scale. If values are quads, a token's values have a bias and an inverse (ValueStep).
    const int scales = m_precision != Precision::I8 ? 0 : m_values == ValueForm::Quads ? 3 : 1;
    layout.valuesAt =
        layout.scalesAt + wholeLines(checkedProduct<size_t>(scales * m_encoder->heads, layout.scaleStride));
    layout.size = layout.valuesAt + wholeLines(valuesSize(layout));
    return layout;
}

// Places rows in the order of a batch: a window's special rows, image tokens, trailing rows, then padding.
void TokenMemory::place(const EncoderConfig& config, const Windows& windows, bool global,
                        Layout& layout) const {
    const auto beginSpan = [&](int row) {
        layout.values = m_values != ValueForm::Floats ? 2 * wholeValuePairs(layout.values) : layout.keys;
        layout.spans.push_back({row, 0, layout.keys, 0});
        layout.firstValue.push_back(layout.values);
    };
    layout.places.resize(m_rows);
    const int special = config.specialTokens, tokens = m_rows - config.specialRows() - config.trailingTokens;
    int row = 0;
    for (int w = 0; w < windows.count(); ++w) {
        if (w == 0 || !global) beginSpan(row);
        Span& span = layout.spans.back();
        const auto add = [&](int input) {
            layout.places[input] = {layout.keys++, layout.values++};
            ++span.rows;
            ++row;
        };
        for (int e = 0; e < special; ++e)
            add(w * special + e);
        for (int t = 0; t < windows.tokens(w); ++t)
            add(config.specialRows() + windows.positions(w)[t]);
        for (int t = 0; t < config.trailingTokens; ++t)
            add(config.specialRows() + tokens + t);
        const int padding = global ? 0 : windows.wholeWindow() - windows.tokens(w);
        layout.keys = checkedSum<int>(layout.keys, padding);
        layout.values = checkedSum<int>(layout.values, padding);
        span.keys = span.rows + padding;
    }
    if (m_values != ValueForm::Floats) layout.values = 2 * wholeValuePairs(layout.values);
}

int TokenMemory::readableKeys(const Layout& layout) const {
    return checkedSum<int>(layout.keys, std::max(kernels::rowGroup(), kernels::kKeysRead));
}

size_t TokenMemory::keysSize(const Layout& layout) const {
    return m_precision == Precision::F32 ? checkedProduct<size_t>(m_encoder->heads, layout.headStep)
                                         : checkedProduct<size_t>(readableKeys(layout), m_keyStride);
}

size_t TokenMemory::valuesSize(const Layout& layout) const {
    if (m_values == ValueForm::Floats) return checkedProduct<size_t>(m_encoder->heads, layout.headStep);
    return checkedProduct<size_t>(m_valuesAreColumns ? m_encoder->inner : layout.values / tokensOfWord(),
                                  layout.valueStride);
}

TokenMemory::Block TokenMemory::block(int index) const {
    const Layout& layout = *m_blocks[index].layout;
    float* const start = m_start + m_blocks[index].at;
    return {layout, start, start + layout.scalesAt, start + layout.valuesAt};
}

void TokenMemory::recall(int tap, float* to) const {
    parallelCopy(outputs(tap), static_cast<size_t>(m_rows) * m_dim, to);
}

void TokenMemory::keep(int index, const HeadRows& heads, int first, const int* rows, int count) {
    const Block to = block(index);
    for (int i = 0; i < count; ++i) {
        const Place& place = to.layout.places[rows[i]];
        const int row = first + i;
        if (m_precision == Precision::BF16) {
            keepPairs(to, heads.pairsAt(HeadPart::Keys, 0, row), heads.pairsAt(HeadPart::Values, 0, row),
                      place);
        } else {
            keepRow(to,
                    {heads.at(HeadPart::Keys, 0, row), heads.at(HeadPart::Values, 0, row), heads.headStep()},
                    place);
        }
    }
}

void TokenMemory::keepPadding(int index, int window, int number, const float* row) {
    const Block to = block(index);
    const Span& span = to.layout.spans[window];
    const size_t inner = m_encoder->inner, size = m_encoder->headSize;
    const int behind = span.rows + number;
    const Place place{span.firstKey + behind, to.layout.firstValue[window] + behind};
    if (m_precision != Precision::BF16) return keepRow(to, {row + inner, row + 2 * inner, size}, place);
    const PairRow pairs(*m_encoder);
    std::vector<kernels::Bf16Pair> rounded(pairs.words());
    pairs.round(row, {rounded.data(), rounded.size()});
    keepPairs(to, {&rounded[pairs.keysAt()], rounded.size()}, {&rounded[pairs.valuesAt()], rounded.size()},
              place);
}

void TokenMemory::keepRow(const Block& block, const KeyAndValue& row, const Place& place) {
    keepKey(block, row, place.key);
    if (m_values == ValueForm::Quads) return keepQuad(block, row, place);
    const int size = m_encoder->headSize;
    for (int h = 0; h < m_encoder->heads; ++h)
        std::copy_n(row.value + h * row.headStep, size,
                    block.values + h * block.layout.headStep + static_cast<size_t>(place.value) * size);
}

void TokenMemory::keepKey(const Block& block, const KeyAndValue& row, int to) {
    const int size = m_encoder->headSize;
    auto* quads = reinterpret_cast<kernels::I8Quad*>(block.keys) + to * m_keyStride;
    for (int h = 0; h < m_encoder->heads; ++h) {
        const float* key = row.key + h * row.headStep;
        if (m_precision == Precision::F32) {
            std::copy_n(key, size, block.keys + h * block.layout.headStep + static_cast<size_t>(to) * size);
        } else {
            block.keyScales[h * block.layout.scaleStride + to] =
                kernels::packQuads(key, size, quads + h * kernels::quadsOf(size));
        }
    }
}

// Writes each value of the row to one half of a word. The other half has the neighbouring token's value.
void TokenMemory::keepPairs(const Block& block, const kernels::ConstPairRows& keys,
                            const kernels::ConstPairRows& values, const Place& to) {
    constexpr int kPiece = kernels::kPiecePairs;
    auto* const key = reinterpret_cast<kernels::Bf16Pair*>(block.keys) + to.key * m_keyStride;
    const int words = m_encoder->heads * kernels::pairsOf(m_encoder->headSize);
    for (int w = 0; w < words; w += kPiece)
        std::copy_n(keys.from(0, w).data, std::min(kPiece, words - w), key + w);
    const int inner = m_encoder->inner;
    const size_t pair = to.value / 2, half = to.value % 2;
    auto* halves = reinterpret_cast<std::uint16_t*>(block.values) + half;
    const size_t stride = block.layout.valueStride;
    const size_t start = m_valuesAreColumns ? pair : pair * stride;
    const size_t step = m_valuesAreColumns ? stride : 1;
    for (int c = 0; c < inner; ++c) {
        const kernels::Bf16Pair both = *values.from(0, c / 2).data;
        halves[2 * (start + c * step)] = static_cast<std::uint16_t>(both >> 16 * (c % 2));
    }
}

// Stores each value of a token as a byte of a separate word. The other three bytes of a word belong to
// neighbouring tokens.
void TokenMemory::keepQuad(const Block& block, const KeyAndValue& row, const Place& to) {
    static thread_local std::vector<std::int8_t> rounded;
    const int size = m_encoder->headSize, heads = m_encoder->heads;
    rounded.resize(4 * kernels::quadsOf(size));
    auto* bytes = reinterpret_cast<std::int8_t*>(block.values) + to.value / 4 * block.layout.valueStride * 4 +
                  to.value % 4;
    for (int h = 0; h < heads; ++h) {
        const auto step = kernels::roundValues(row.value + h * row.headStep, size, rounded.data());
        float* const at = block.keyScales + (heads + h) * block.layout.scaleStride + to.key;
        at[0] = step.bias;
        at[heads * block.layout.scaleStride] = step.inverse;
        for (int k = 0; k < size; ++k, bytes += 4)
            *bytes = rounded[k];
    }
}

std::vector<float> TokenMemory::keyBias(int index, const float* ofRows) const {
    const Layout& layout = *m_blocks[index].layout;
    std::vector<float> bias(layout.keys, 0.0f);
    for (int r = 0; r < m_rows; ++r)
        bias[layout.places[r].key] = ofRows[r];
    return bias;
}

kernels::AttentionHead TokenMemory::head(const Block& block, const Span& span, const HeadQueries& queries,
                                         const float* keyBias) const {
    // AttentionHead has a single stride, that of the queries. This stride also suits f32 keys and values: if
    // values are f32, HeadRows and this memory store the rows of a head without gaps.
    const size_t at =
        queries.head * block.layout.headStep + static_cast<size_t>(span.firstKey) * m_encoder->headSize;
    return {queries.heads.at(HeadPart::Queries, queries.head, queries.first),
            m_precision == Precision::F32 ? block.keys + at : nullptr,
            m_values == ValueForm::Floats ? block.values + at : nullptr,
            queries.heads.stride(),
            span.keys,
            m_encoder->headSize,
            m_encoder->attentionScale,
            keyBias ? keyBias + span.firstKey : nullptr,
            queries.count};
}

void TokenMemory::attend(int at, int number, const HeadQueries& queries, int first, const float* keyBias,
                         float* output, size_t outputStride) const {
    const Block from = block(at);
    const Layout& layout = from.layout;
    const Span& span = layout.spans[number];
    const kernels::AttentionHead f32 = head(from, span, queries, keyBias);
    const auto* keys = reinterpret_cast<const std::uint32_t*>(from.keys) + span.firstKey * m_keyStride;
    const int size = m_encoder->headSize, index = queries.head;
    const size_t column = static_cast<size_t>(index) * size,
                 word = layout.firstValue[number] / tokensOfWord();
    const auto* values =
        reinterpret_cast<const std::uint32_t*>(from.values) +
        (m_valuesAreColumns ? column * layout.valueStride + word : word * layout.valueStride + column);
    if (m_precision == Precision::BF16) {
        const kernels::ConstPairRows own{keys + index * kernels::pairsOf(size), m_keyStride};
        kernels::attendPanelBf16({f32, queries.heads.pairsAt(HeadPart::Queries, index, queries.first), own,
                                  values, layout.valueStride, m_valuesAreColumns},
                                 first, output, outputStride);
    } else if (m_precision == Precision::I8) {
        kernels::AttentionHeadI8 packed{f32, keys + index * kernels::quadsOf(size), m_keyStride,
                                        from.keyScales + index * layout.scaleStride + span.firstKey};
        if (m_values == ValueForm::Quads) {
            packed.values = values;
            packed.valueStride = layout.valueStride;
            packed.valueBiases = packed.keyScales + m_encoder->heads * layout.scaleStride;
            packed.valueInverses = packed.valueBiases + m_encoder->heads * layout.scaleStride;
        }
        kernels::attendPanelI8(packed, first, output, outputStride);
    } else {
        kernels::attendPanel(f32, first, output, outputStride);
    }
}

}  // namespace mpm::cpu

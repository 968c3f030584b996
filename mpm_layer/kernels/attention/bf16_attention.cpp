#include <algorithm>

#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/attention/bf16_attention.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/attention/attention-inl.h"
#include "mpm_layer/kernels/attention/attention_tiles-inl.h"
#include "mpm_layer/kernels/attention/value_pairs-inl.h"
#include "mpm_layer/kernels/product/microkernel-inl.h"
#include "mpm_layer/kernels/product/pairs-inl.h"
#include "mpm_layer/kernels/product/tiles-inl.h"

MPM_BEFORE_NAMESPACE_BF16();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

#if MPM_HAS_BF16

// Packs the panel of queries that begins at query `first`.
HWY_INLINE void packQueries(const AttentionHeadBf16& head, int first, Bf16Pair* packed) {
    const int present = std::min(static_cast<int>(panelWidth()), head.f32.queriesFrom(first));
    const int pairs = pairsOf(head.f32.headSize);
    for (int p = 0; p < pairs; p += kPiecePairs)
        packColumns(head.queries.from(first, p).data, head.queries.stride, present,
                    std::min(kPiecePairs, pairs - p), packed + p * panelWidth());
}

bool TakesValuesAsColumns(int headSize) {
    return hasTiles() && headSize % (2 * 16) == 0;
}

#if MPM_HAS_TILES

HWY_NOINLINE void attendPanelTiles(const AttentionHeadBf16& head, int first, float* output,
                                   size_t outputStride) {
    static thread_local Buffer scratch;
    const TileMemory memory(scratch, head.f32.headSize);
    packQueries(head, first, memory.queries);
    const TileTotals totals = attendTiles(head, memory);
    Panel<2> panel(memory.output);
    for (int v = 0; v < 2; ++v)
        panel.total[v] = totals.of(v);
    writeOutput(head.f32, first, panel, output, outputStride);
}

#endif

// Makes a pair of the values of two tokens for each column. If `second` is null, the second values are zero.
HWY_INLINE void interleaveTokens(const Bf16Pair* first, const Bf16Pair* second, size_t pieceStep, int columns,
                                 Bf16Pair* to) {
    HWY_ALIGN static constexpr std::uint16_t kLeft[] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                        37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                        11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i left = _mm512_load_si512(kLeft), right = _mm512_add_epi16(left, _mm512_set1_epi16(16));
    const auto maskOf = [](int count)
                            HWY_ATTR { return static_cast<__mmask16>((1u << std::clamp(count, 0, 16)) - 1); };
    for (int c = 0; c < columns; c += 32, first += pieceStep) {
        const __mmask16 words = maskOf(pairsOf(columns - c));
        const __m512i a = _mm512_maskz_loadu_epi32(words, first);
        const __m512i b =
            second ? _mm512_maskz_loadu_epi32(words, second + c / 32 * pieceStep) : _mm512_setzero_si512();
        _mm512_mask_storeu_epi32(to + c, maskOf(columns - c), _mm512_permutex2var_epi16(a, left, b));
        _mm512_mask_storeu_epi32(to + c + 16, maskOf(columns - c - 16),
                                 _mm512_permutex2var_epi16(a, right, b));
    }
}

void PackValues(const ConstPairRows& rows, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride) {
    static thread_local Buffer scratch;
    const size_t width = panelWidth();
    const int pairs = pairsOf(tokens);
    auto* between = reinterpret_cast<Bf16Pair*>(scratch.reserve(2 * width * columns));
    for (int p = 0; p < pairs; ++p) {
        const Bf16Pair* row = rows.from(2 * p).data;
        interleaveTokens(row, 2 * p + 1 < tokens ? row + rows.stride : nullptr, rows.pieceStep, columns,
                         asColumns ? between + static_cast<size_t>(p) * columns : packed + p * packedStride);
    }
    if (!asColumns) return;
    Bf16Pair* panel = between + width * columns;
    packColumns(between, columns, pairs, columns, panel);
    for (int c = 0; c < columns; ++c)
        std::copy_n(panel + c * width, width, packed + c * packedStride);
}

template <int V>
HWY_INLINE void attendPairs(const AttentionHeadBf16& head, int first, float* output, size_t outputStride) {
    static thread_local Buffer scratch;
    const AttentionHead& f32 = head.f32;
    const int pairs = pairsOf(f32.headSize);
    const size_t width = panelWidth(), out = static_cast<size_t>(f32.headSize) * width, query = pairs * width;
    float* memory = scratch.reserve(out + query + kKeyBlockBf16 / 2 * width);
    auto* queries = reinterpret_cast<Bf16Pair*>(memory + out);
    Bf16Pair* weights = queries + query;
    const ValuePairs values{head.values, head.valueStride, f32.headSize};
    Panel<V> panel(memory);
    packQueries(head, first, queries);
    std::fill(panel.output, panel.output + out, 0.0f);
    attendKeys(
        f32, kKeyBlockBf16, panel,
        [&](int key, Block<kGroup, V>& block) HWY_ATTR {
            multiplyAddPairs<kGroup>(pairs, head.keys.from(key).data, head.keys.stride, 1, queries, block);
        },
        [&](const Block<kGroup, V>& block, int at)
            HWY_ATTR { weighScorePairs(block, panel, weights + at / 2 * width); },
        [&](int key, int count) HWY_ATTR { addValuePairs<V>(values, key, count, weights, panel.output); });
    writeOutput(f32, first, panel, output, outputStride);
}

void AttendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride) {
#if MPM_HAS_TILES
    if (head.valuesAreColumns) return attendPanelTiles(head, first, output, outputStride);
#endif
    withVectors(head.f32, first, [&](auto vectors) HWY_ATTR {
        attendPairs<decltype(vectors)::value>(head, first, output, outputStride);
    });
}

#else  // packing and attention are never called, because hasBf16() is false

bool TakesValuesAsColumns(int) {
    return false;
}
void PackValues(const ConstPairRows&, int, int, bool, Bf16Pair*, size_t) {}
void AttendPanelBf16(const AttentionHeadBf16&, int, float*, size_t) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(TakesValuesAsColumns);
HWY_EXPORT(PackValues);
HWY_EXPORT(AttendPanelBf16);

bool takesValuesAsColumns(int headSize) {
    return HWY_DYNAMIC_DISPATCH(TakesValuesAsColumns)(headSize);
}

void packValues(const ConstPairRows& rows, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride) {
    HWY_DYNAMIC_DISPATCH(PackValues)(rows, tokens, columns, asColumns, packed, packedStride);
}

void attendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(AttendPanelBf16)(head, first, output, outputStride);
}

}  // namespace mpm::kernels
#endif

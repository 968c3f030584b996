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

// Packs a panel of queries. `rows` is temporary memory for panelWidth() rows of pairsOf(headSize) pairs.
HWY_INLINE void packQueryPairs(const AttentionHead& head, int first, Bf16Pair* rows, Bf16Pair* packed) {
    const int present = std::min(static_cast<int>(panelWidth()), head.queriesFrom(first));
    const int pairs = pairsOf(head.headSize);
    const Float scale = hn::Set(FloatTag(), head.scale * kLog2E);
    HWY_ALIGN float scaled[16];
    const int whole = head.headSize / 16 * 16;
    for (int q = 0; q < present; ++q) {
        const float* from = head.queries + (first + q) * head.stride;
        for (int k = 0; k < whole; k += 16) {
            const __m512 part = hn::Mul(hn::LoadU(FloatTag(), from + k), scale).raw;
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows + q * pairs + k / 2),
                                (__m256i)_mm512_cvtneps_pbh(part));
        }
        for (int k = whole; k < head.headSize; k += 16) {
            const int count = std::min(16, head.headSize - k);
            hn::Store(hn::Mul(loadPart(from + k, count), scale), FloatTag(), scaled);
            roundToPairs(scaled, count, rows + q * pairs + k / 2);
        }
    }
    packColumns(rows, pairs, present, pairs, packed);
}

bool TakesValuesAsColumns(int headSize) {
    return hasTiles() && headSize % (2 * 16) == 0;
}

#if MPM_HAS_TILES

HWY_NOINLINE void attendPanelTiles(const AttentionHeadBf16& head, int first, float* output,
                                   size_t outputStride) {
    static thread_local Buffer scratch;
    const TileMemory memory(scratch, head.f32.headSize);
    packQueryPairs(head.f32, first, memory.queryRows, memory.queries);
    const TileTotals totals = attendTiles(head, memory);
    Panel<2> panel(memory.output);
    for (int v = 0; v < 2; ++v)
        panel.total[v] = totals.of(v);
    writeOutput(head.f32, first, panel, output, outputStride);
}

#endif

void PackValues(const float* rows, size_t stride, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride) {
    static thread_local Buffer scratch;
    const size_t width = panelWidth();
    const int pairs = pairsOf(tokens);
    float* memory = scratch.reserve(2 * width * columns);
    auto* between = reinterpret_cast<Bf16Pair*>(memory);
    for (int p = 0; p < pairs; ++p) {
        const float* row = rows + 2 * p * stride;
        interleaveRows(row, 2 * p + 1 < tokens ? row + stride : nullptr, columns,
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
    float* memory = scratch.reserve(out + query + std::max(kKeyBlockBf16 / 2 * width, query));
    auto* queries = reinterpret_cast<Bf16Pair*>(memory + out);
    Bf16Pair* weights = queries + query;
    const ValuePairs values{head.values, head.valueStride, f32.headSize};
    Panel<V> panel(memory);
    packQueryPairs(f32, first, weights, queries);  // `rows` is in `weights`, which is not in use yet
    std::fill(panel.output, panel.output + out, 0.0f);
    attendKeys(
        f32, kKeyBlockBf16, panel,
        [&](int key, Block<kGroup, V>& block) HWY_ATTR {
            multiplyAddPairs<kGroup>(pairs, head.keys + key * head.keyStride, head.keyStride, 1, queries,
                                     block);
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

#else  // these functions are never called, because hasBf16() is false

bool TakesValuesAsColumns(int) {
    return false;
}
void PackValues(const float*, size_t, int, int, bool, Bf16Pair*, size_t) {}
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

void packValues(const float* rows, size_t stride, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride) {
    HWY_DYNAMIC_DISPATCH(PackValues)(rows, stride, tokens, columns, asColumns, packed, packedStride);
}

void attendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(AttendPanelBf16)(head, first, output, outputStride);
}

}  // namespace mpm::kernels
#endif

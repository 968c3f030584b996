#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/i8.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/attention/i8_attention.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/attention/attention-inl.h"
#include "mpm_layer/kernels/attention/stored_scores-inl.h"
#include "mpm_layer/kernels/attention/value_quads-inl.h"
#include "mpm_layer/kernels/attention/values-inl.h"
#include "mpm_layer/kernels/product/quads-inl.h"

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// A panel of queries as columns of quads: the right operand of the product with the keys.
struct QueryQuads {
    I8Quad* quads;          // [quadsOf(headSize)][panelWidth()]
    float* scales;          // the quantisation step of each query, times kLog2E and the scale of the logits
    std::int32_t* offsets;  // added to a query's sums, to remove the offset of key bytes
};

HWY_INLINE size_t queryRoom(int headSize) {
    return (static_cast<size_t>(quadsOf(headSize)) + 2) * panelWidth();
}

/// Packs queries into `room`. `rows` is temporary memory for panelWidth() rows of quadsOf(headSize) quads.
template <class Dot>
HWY_INLINE QueryQuads packQueryQuads(const AttentionHead& head, int first, I8Quad* rows, float* room) {
    constexpr ByteForm form = Dot::form(Finer::Left);  // keys are packed in this form too
    const int width = static_cast<int>(panelWidth()), quads = quadsOf(head.headSize);
    const int present = std::min(width, head.queriesFrom(first));
    const QueryQuads packed{reinterpret_cast<I8Quad*>(room + 2 * width), room,
                            reinterpret_cast<std::int32_t*>(room + width)};
    std::fill_n(packed.scales, width, 0.0f);
    std::fill_n(packed.offsets, width, 0);
    for (int q = 0; q < present; ++q) {
        const float* from = head.queries + (first + q) * head.stride;
        const float largest = largestOf(from, head.headSize);
        const bool finite = largest == largest;
        Step step(finite ? largest : 0.0f, form.right);
        if constexpr (form.pair < 2 * form.right) {
            // Halves each sum of two neighbours, because the sum itself may overflow.
            const Step ofPair(finite ? halfOfLargestPair(from, head.headSize) : 0.0f, form.pair / 2.0f);
            if (ofPair.scale > step.scale) step = ofPair;
        }
        I8Quad* to = rows + static_cast<size_t>(q) * quads;
        std::fill_n(to, quads, 0u);
        if (finite) roundToQuads(from, head.headSize, step.inverse, 0, to);
        packed.scales[q] = finite ? step.scale * head.scale * kLog2E : largest;
        const auto* bytes = reinterpret_cast<const std::int8_t*>(to);
        int sum = 0;
        for (int k = 0; k < head.headSize && form.offset != 0; ++k)
            sum += bytes[k];
        packed.offsets[q] = -form.offset * sum;
    }
    packColumns(rows, quads, present, quads, packed.quads);
    return packed;
}

#if HWY_TARGET == HWY_NEON

/// Computes the scores of key `key + r` from the sums of the group of keys that begins at `key`.
template <int V>
HWY_INLINE void readScores(const AttentionHeadI8& head, const std::int32_t* sums, const QueryQuads& queries,
                           int key, int r, Float (&scores)[V]) {
    const FloatTag d;
    const Float keyStep = hn::Set(d, head.keyScales[key + r]);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        const Float step = hn::Mul(keyStep, hn::Load(d, queries.scales + 4 * v));
        scores[v] = hn::Mul(hn::ConvertTo(d, hn::Load(IntTag(), sums + 8 * r + 4 * v)), step);
    }
    if (!head.f32.keyBias) return;
    const Float bias = hn::Set(d, head.f32.keyBias[key + r] * kLog2E);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v)
        scores[v] = hn::Add(scores[v], bias);
}

#endif

template <class Dot, int V>
HWY_INLINE void scoreQuads(const AttentionHeadI8& head, int key, const QueryQuads& queries,
                           Block<kGroup, V>& block) {
    const FloatTag d;
    IntBlock<kGroup, V> sums;
    clearBlock(sums);
    multiplyAddQuads<Dot>(quadsOf(head.f32.headSize), head.keys + key * head.keyStride, head.keyStride,
                          queries.quads, sums);
#pragma GCC unroll 16
    for (int r = 0; r < kGroup; ++r) {
        const Float keyStep = hn::Set(d, head.keyScales[key + r]);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            const Float step = hn::Mul(keyStep, hn::Load(d, queries.scales + v * hn::Lanes(d)));
            const Int sum = hn::Add(sums.at(r, v), hn::LoadU(IntTag(), queries.offsets + v * hn::Lanes(d)));
            block.sum[r][v] = hn::MulAdd(hn::ConvertTo(d, sum), step, block.sum[r][v]);
        }
    }
}

#if MPM_HAS_VNNI

/// Computes the scores of a group of keys and updates the highest scores. The block begins at key `key` of
/// the head; the group begins at key `at` of the block.
template <int V>
HWY_INLINE void scoreGroup(const AttentionHeadI8& head, int key, int at, const QueryQuads& queries,
                           const KeyBlock& block, Float (&highest)[V]) {
    const FloatTag d;
    const size_t width = panelWidth(), lanes = hn::Lanes(d);
    IntBlock<kGroup, V> sums;
    Float steps[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        steps[v] = hn::Load(d, queries.scales + v * lanes);
#pragma GCC unroll 16
        for (int r = 0; r < kGroup; ++r)
            sums.sum[r][v] = asSum(hn::LoadU(IntTag(), queries.offsets + v * lanes));
    }
    const int first = key + at;
    multiplyAddQuads<DotVnni>(quadsOf(head.f32.headSize), head.keys + first * head.keyStride, head.keyStride,
                              queries.quads, sums);
#pragma GCC unroll 16
    for (int r = 0; r < kGroup; ++r) {
        const Float step = hn::Set(d, block.steps[at + r]), bias = hn::Set(d, block.biases[at + r]);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            const Float score = hn::MulAdd(hn::Mul(hn::ConvertTo(d, sums.at(r, v)), steps[v]), step, bias);
            hn::Store(score, d, block.scores + (at + r) * width + v * lanes);
            highest[v] = hn::Max(highest[v], score);
        }
    }
}

#endif

template <class Dot, int V>
HWY_INLINE void attendToFloats(const AttentionHeadI8& head, int first, float* output, size_t outputStride) {
    static thread_local Buffer scratch;
    const AttentionHead& f32 = head.f32;
    const size_t width = panelWidth(), out = static_cast<size_t>(f32.headSize) * width;
    const size_t rows = static_cast<size_t>(quadsOf(f32.headSize)) * width;
    float* memory = scratch.reserve(out + queryRoom(f32.headSize) + std::max(kKeyBlock * width, rows));
    float* weights = memory + out + queryRoom(f32.headSize);
    Panel<V> panel(memory);
    const QueryQuads queries =
        packQueryQuads<Dot>(f32, first, reinterpret_cast<I8Quad*>(weights), memory + out);
    std::fill(panel.output, panel.output + out, 0.0f);
#if HWY_TARGET == HWY_NEON
    HWY_ALIGN std::int32_t sums[kGroup * 8];
    attendStored<Coarse>(
        f32, kKeyBlock, weights, panel,
        [&](int key) HWY_ATTR {
            storeQuadSums<Dot, kGroup, V>(quadsOf(f32.headSize), head.keys + key * head.keyStride,
                                          head.keyStride, queries.quads, sums);
        },
        [&](int key, int r, Float(&scores)[V]) HWY_ATTR { readScores(head, sums, queries, key, r, scores); },
        [&](int key, int count) HWY_ATTR { addValues<V>(f32, key, count, weights, panel.output); });
#else
    attendKeys(
        f32, kKeyBlock, panel,
        [&](int key, Block<kGroup, V>& block) HWY_ATTR { scoreQuads<Dot>(head, key, queries, block); },
        [&](const Block<kGroup, V>& block, int at)
            HWY_ATTR { weighScores(block, panel, weights + at * width); },
        [&](int key, int count) HWY_ATTR { addValues<V>(f32, key, count, weights, panel.output); });
#endif
    writeOutput(f32, first, panel, output, outputStride);
}

#if MPM_HAS_VNNI

template <int V>
HWY_INLINE void attendToQuads(const AttentionHeadI8& head, int first, float* output, size_t outputStride) {
    static thread_local Buffer scratch;
    const AttentionHead& f32 = head.f32;
    const size_t width = panelWidth(), out = static_cast<size_t>(f32.headSize) * width;
    const size_t rows = static_cast<size_t>(quadsOf(f32.headSize)) * width;
    float* memory = scratch.reserve(out + queryRoom(f32.headSize) + std::max(KeyBlock::room(), rows));
    KeyBlock block(memory + out + queryRoom(f32.headSize));
    Panel<V> panel(memory);
    const QueryQuads queries =
        packQueryQuads<DotVnni>(f32, first, reinterpret_cast<I8Quad*>(block.scores), memory + out);
    std::fill(panel.output, panel.output + out, 0.0f);
    for (int key = 0; key < f32.tokens; key += kKeyBlockI8) {
        const int count = std::min(kKeyBlockI8, f32.tokens - key);
        block.setKeys(head, key, count);
        Float highest[V], unit[V];
        for (int v = 0; v < V; ++v)
            highest[v] = hn::Set(FloatTag(), -std::numeric_limits<float>::infinity());
        for (int k = 0; k < 4 * quadsOf(count); k += kGroup)
            scoreGroup(head, key, k, queries, block, highest);
        if (exceeds(highest, panel)) raisePeaks(highest, f32.headSize, panel);
        weighBlock(count, block, highest, panel, unit);
        addValueQuads(head, key / 4, quadsOf(count), block.weights, unit, panel.output);
    }
    writeOutput(f32, first, panel, output, outputStride);
}

#endif

template <class Dot, int V>
HWY_NOINLINE void attendQuads(const AttentionHeadI8& head, int first, float* output, size_t outputStride) {
#if MPM_HAS_VNNI
    if constexpr (std::is_same_v<Dot, DotVnni>) {
        if (head.values) return attendToQuads<V>(head, first, output, outputStride);
    }
#endif
    attendToFloats<Dot, V>(head, first, output, outputStride);
}

bool TakesValueQuads() {
#if MPM_HAS_VNNI
    return hasDot();
#else
    return false;
#endif
}

ValueStep RoundValues(const float* values, int size, std::int8_t* bytes) {
    // With a step below kLeast, attention weights could overflow or vanish in f32.
    constexpr float kLeast = 0x1p-80f, kNaN = std::numeric_limits<float>::quiet_NaN();
    const float largest = largestOf(values, size);
    if (!(largest == largest)) {
        std::fill_n(bytes, size, std::int8_t{0});
        return {kNaN, kNaN};
    }
    const float step = std::max(largest / 127, kLeast), inverse = 1 / step;
    roundToQuads(values, size, inverse, 0, reinterpret_cast<I8Quad*>(bytes));
    return {std::log2(step), inverse};
}

void InterleaveBytes(const std::int8_t* const (&tokens)[4], int count, I8Quad* quads) {
    const hn::ScalableTag<std::int8_t> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    auto* const to = reinterpret_cast<std::int8_t*>(quads);
    int k = 0;
    for (; k + lanes <= count; k += lanes)
        hn::StoreInterleaved4(hn::LoadU(d, tokens[0] + k), hn::LoadU(d, tokens[1] + k),
                              hn::LoadU(d, tokens[2] + k), hn::LoadU(d, tokens[3] + k), d, to + 4 * k);
    for (; k < count; ++k)
        for (int t = 0; t < 4; ++t)
            to[4 * k + t] = tokens[t][k];
}

void AttendPanelI8(const AttentionHeadI8& head, int first, float* output, size_t outputStride) {
    withDot([&](auto dot) HWY_ATTR {
        withVectors(head.f32, first, [&](auto vectors) HWY_ATTR {
            attendQuads<decltype(dot), decltype(vectors)::value>(head, first, output, outputStride);
        });
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(AttendPanelI8);
HWY_EXPORT(InterleaveBytes);
HWY_EXPORT(RoundValues);
HWY_EXPORT(TakesValueQuads);

bool takesValueQuads() {
    static const bool takes = HWY_DYNAMIC_DISPATCH(TakesValueQuads)();
    return takes;
}

ValueStep roundValues(const float* values, int size, std::int8_t* bytes) {
    return HWY_DYNAMIC_DISPATCH(RoundValues)(values, size, bytes);
}

void interleaveBytes(const std::int8_t* const (&tokens)[4], int count, I8Quad* quads) {
    HWY_DYNAMIC_DISPATCH(InterleaveBytes)(tokens, count, quads);
}

void attendPanelI8(const AttentionHeadI8& head, int first, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(AttendPanelI8)(head, first, output, outputStride);
}

}  // namespace mpm::kernels
#endif

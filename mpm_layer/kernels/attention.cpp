#include "mpm_layer/kernels/attention.hpp"

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/buffer.hpp"
#include "mpm_layer/kernels/product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/attention.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/attention-inl.h"
#include "mpm_layer/kernels/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE void packQueries(const AttentionHead& head, int first, float* packed) {
    const FloatTag d;
    const int present = std::min(static_cast<int>(panelWidth()), head.tokens - first);
    packColumns(head.queries + first * head.stride, head.stride, present, head.headSize, packed);
    const Float scale = hn::Set(d, head.scale * kLog2E);
    float* const end = packed + head.headSize * panelWidth();
    for (float* at = packed; at < end; at += hn::Lanes(d))
        hn::Store(hn::Mul(hn::Load(d, at), scale), d, at);
}

// Keys of one pass: weights (240 x 32 x 4 = 30 KiB) stay in the level-1 cache until their values are added.
constexpr int kKeyBlock = 20 * kGroup;

/// A block's scores become weights.
template <int V>
HWY_INLINE void weighScores(const Block<kGroup, V>& block, Panel<V>& panel, float* weights) {
    const FloatTag d;
    const size_t width = panelWidth();
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        Float total[2] = {hn::Zero(d), hn::Zero(d)};
#pragma GCC unroll 16
        for (int r = 0; r < kGroup; ++r) {
            const Float weight = exp2(hn::Sub(block.sum[r][v], panel.peak[v]));
            hn::Store(weight, d, weights + r * width + v * width / 2);
            total[r % 2] = hn::Add(total[r % 2], weight);
        }
        panel.total[v] = hn::Add(panel.total[v], hn::Add(total[0], total[1]));
    }
}

template <int R, int V>
HWY_INLINE void addValues(const AttentionHead& head, int start, int count, int column, const float* weights,
                          float* output) {
    const size_t width = panelWidth();
    Block<R, V> block;
    loadBlock(output + column * width, width, block);
    multiplyAdd<R>(count, head.values + start * head.stride + column, 1, head.stride, weights, block);
    storeBlock(block, output + column * width, width);
}

// Columns of V in register blocks; small ones last so that the usual head sizes waste nothing.
template <int V>
HWY_NOINLINE void addValues(const AttentionHead& head, int start, int count, const float* weights,
                            float* output) {
    int column = 0;
    const auto left = [&] { return head.headSize - column; };
    for (; left() >= kGroup && left() != 16; column += kGroup)
        addValues<kGroup, V>(head, start, count, column, weights, output);
    if constexpr (kGroup > 8) {
        for (; left() >= 8; column += 8)
            addValues<8, V>(head, start, count, column, weights, output);
    }
    for (; left() >= 4; column += 4)
        addValues<4, V>(head, start, count, column, weights, output);
    for (; left() >= 1; column += 1)
        addValues<1, V>(head, start, count, column, weights, output);
}

template <int V>
HWY_INLINE void attend(const AttentionHead& head, int first, float* output, size_t outputStride) {
    static thread_local Buffer scratch;
    const size_t width = panelWidth(), size = static_cast<size_t>(head.headSize) * width;
    float* queries = scratch.reserve(2 * size + kKeyBlock * width);
    float* weights = queries + 2 * size;
    Panel<V> panel(queries + size);
    packQueries(head, first, queries);
    std::fill(panel.output, panel.output + size, 0.0f);
    attendKeys(
        head, kKeyBlock, panel,
        [&](int key, Block<kGroup, V>& block) HWY_ATTR {
            multiplyAdd<kGroup>(head.headSize, head.keys + key * head.stride, head.stride, 1, queries, block);
        },
        [&](const Block<kGroup, V>& block, int at)
            HWY_ATTR { weighScores(block, panel, weights + at * width); },
        [&](int key, int count) HWY_ATTR { addValues<V>(head, key, count, weights, panel.output); });
    writeOutput(head, first, panel, output, outputStride);
}

void AttendPanel(const AttentionHead& head, int first, float* output, size_t outputStride) {
    withVectors(head, first, [&](auto vectors) HWY_ATTR {
        attend<decltype(vectors)::value>(head, first, output, outputStride);
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(AttendPanel);

int queryPanel() {
    return panelColumns();
}

void attendPanel(const AttentionHead& head, int first, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(AttendPanel)(head, first, output, outputStride);
}

}  // namespace mpm::kernels
#endif

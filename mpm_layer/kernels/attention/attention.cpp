#include "mpm_layer/kernels/attention/attention.hpp"

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/attention/attention.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/attention/attention-inl.h"
#include "mpm_layer/kernels/attention/stored_scores-inl.h"
#include "mpm_layer/kernels/attention/values-inl.h"
#include "mpm_layer/kernels/product/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE void packQueries(const AttentionHead& head, int first, float* packed) {
    const FloatTag d;
    const int present = std::min(static_cast<int>(panelWidth()), head.queriesFrom(first));
    packColumns(head.queries + first * head.stride, head.stride, present, head.headSize, packed);
    const Float scale = hn::Set(d, head.scale * kLog2E);
    float* const end = packed + head.headSize * panelWidth();
    for (float* at = packed; at < end; at += hn::Lanes(d))
        hn::Store(hn::Mul(hn::Load(d, at), scale), d, at);
}

template <int V>
HWY_INLINE void attend(const AttentionHead& head, int first, float* output, size_t outputStride) {
    static thread_local Buffer scratch;
    const size_t width = panelWidth(), size = static_cast<size_t>(head.headSize) * width;
    float* queries = scratch.reserve(3 * size + kKeyBlock * width);
    float* weights = queries + 3 * size;
    Panel<V> panel(queries + size, queries + 2 * size);
    packQueries(head, first, queries);
    std::fill(panel.output, weights, 0.0f);
#if HWY_TARGET == HWY_NEON
    HWY_ALIGN float scores[kGroup * 8];
    attendStored<Exact>(
        head, kKeyBlock, weights, panel,
        [&](int key) HWY_ATTR {
            Block<kGroup, V> block;
            startScores(head, key, std::min(kGroup, head.tokens - key), block);
            multiplyAdd(head.headSize, head.keys + key * head.stride, head.stride, queries, block);
            storeBlock(block, scores, 8);
        },
        [&](int, int r, Float(&row)[V]) HWY_ATTR {
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v)
                row[v] = hn::Load(FloatTag(), scores + 8 * r + 4 * v);
        },
        [&](int key, int count) HWY_ATTR { addValues<V>(head, key, count, weights, panel.output); });
#else
    attendKeys(
        head, kKeyBlock, panel,
        [&](int key, Block<kGroup, V>& block) HWY_ATTR {
            multiplyAdd(head.headSize, head.keys + key * head.stride, head.stride, queries, block);
        },
        [&](const Block<kGroup, V>& block, int at)
            HWY_ATTR { weighScores(block, panel, weights + at * width); },
        [&](int key, int count) HWY_ATTR { addValues<V>(head, key, count, weights, panel.output); });
#endif
    endPass(head.headSize, panel);
    panel.output = panel.earlier;
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

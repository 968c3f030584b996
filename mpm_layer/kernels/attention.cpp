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

// Scores of keys start..start+count; leaves the maximum of the block in `peak`.
HWY_INLINE void scoreKeys(const AttentionHead& head, int start, int count, Panel& panel, Float (&peak)[2]) {
    const size_t width = panelWidth();
    for (int key = 0; key < count; key += kGroup) {
        const int present = std::min(kGroup, count - key);
        Block<kGroup> block;
        startScores(head, start + key, present, block);
        multiplyAdd<kGroup>(head.headSize, head.keys + (start + key) * head.stride, head.stride, 1,
                            panel.queries, block);
        keepScores(block, present, panel.scores + key * width, peak);
    }
}

// Scores become weights, two keys at a time: half as long a chain of sums.
HWY_INLINE void weighKeys(int count, int headSize, const Float (&peak)[2], Panel& panel) {
    const FloatTag d;
    const size_t width = panelWidth();
    for (int half = 0; half < 2; ++half) {
        const Float highest = hn::Max(panel.peak[half], peak[half]);
        Float total = shrinkTo(highest, half, headSize, panel);
        float* score = panel.scores + half * width / 2;
        const auto weigh = [&](float* at) {
            const Float weight = exp2(hn::Sub(hn::Load(d, at), highest));
            hn::Store(weight, d, at);
            return weight;
        };
        int key = 0;
        for (; key + 1 < count; key += 2, score += 2 * width) {
            const Float first = weigh(score);
            total = hn::Add(total, hn::Add(first, weigh(score + width)));
        }
        if (key < count) total = hn::Add(total, weigh(score));
        panel.total[half] = total;
    }
}

template <int R>
HWY_INLINE void addValues(const AttentionHead& head, int start, int count, int column, Panel& panel) {
    const size_t width = panelWidth();
    Block<R> block;
    loadBlock(panel.output + column * width, width, block);
    multiplyAdd<R>(count, head.values + start * head.stride + column, 1, head.stride, panel.scores, block);
    storeBlock(block, panel.output + column * width, width);
}

// Columns of V in register blocks; small ones last so that the usual head sizes waste nothing.
HWY_INLINE void addValues(const AttentionHead& head, int start, int count, Panel& panel) {
    int column = 0;
    const auto left = [&] { return head.headSize - column; };
    for (; left() >= kGroup && left() != 16; column += kGroup)
        addValues<kGroup>(head, start, count, column, panel);
    if constexpr (kGroup > 8) {
        for (; left() >= 8; column += 8)
            addValues<8>(head, start, count, column, panel);
    }
    for (; left() >= 4; column += 4)
        addValues<4>(head, start, count, column, panel);
    for (; left() >= 1; column += 1)
        addValues<1>(head, start, count, column, panel);
}

void AttendPanel(const AttentionHead& head, int first, float* output, size_t outputStride) {
    static thread_local Buffer scratch;
    const FloatTag d;
    const size_t width = panelWidth();
    const size_t block = static_cast<size_t>(head.headSize) * width;
    float* memory = scratch.reserve(2 * block + (kKeyBlock + kGroup) * width);
    const Float lowest = hn::Set(d, std::numeric_limits<float>::lowest());
    Panel panel{memory, memory + 2 * block, memory + block, {lowest, lowest}, {hn::Zero(d), hn::Zero(d)}};
    packQueries(head, first, panel.queries);
    std::fill(panel.output, panel.output + block, 0.0f);
    for (int start = 0; start < head.tokens; start += kKeyBlock) {
        const int count = std::min(kKeyBlock, head.tokens - start);
        Float peak[2] = {lowest, lowest};
        scoreKeys(head, start, count, panel, peak);
        weighKeys(count, head.headSize, peak, panel);
        addValues(head, start, count, panel);
    }
    writeOutput(head, first, panel, output, outputStride);
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

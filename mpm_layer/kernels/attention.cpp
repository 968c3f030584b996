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

#include "mpm_layer/kernels/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// Queries lie across the lanes, keys down the rows: maxima and sums of the softmax are plain vertical
// operations, and the weights of one key come out in exactly the panel order that the product with V takes as
// its right operand.

// Keys of one pass: scores (240 x 32 x 4 = 30 KiB) stay in the level-1 cache between the two products.
constexpr int kKeyBlock = 240;
constexpr float kLog2E = 1.44269504f;

struct Panel {
    float* queries;  // [headSize][width], scaled so that 2^score is the weight
    float* scores;   // [kKeyBlock + kGroup][width]
    float* output;   // [headSize][width], transposed
    Float peak[2];   // running maximum per query
    Float total[2];  // running sum of weights per query
};

HWY_INLINE void packQueries(const AttentionHead& head, int first, float* packed) {
    const int width = static_cast<int>(panelWidth());
    const int present = std::min(width, head.tokens - first);
    const float scale = head.scale * kLog2E;
    for (int q = 0; q < present; ++q) {
        const float* row = head.queries + (first + q) * head.stride;
        for (int k = 0; k < head.headSize; ++k)
            packed[k * width + q] = row[k] * scale;
    }
    for (int q = present; q < width; ++q) {
        for (int k = 0; k < head.headSize; ++k)
            packed[k * width + q] = 0.0f;
    }
}

// Scores of keys start..start+count; leaves the maximum of the block in `peak`.
HWY_INLINE void scoreKeys(const AttentionHead& head, int start, int count, Panel& panel, Float (&peak)[2]) {
    const FloatTag d;
    const size_t width = panelWidth();
    for (int key = 0; key < count; key += kGroup) {
        const int present = std::min(kGroup, count - key);
        Block<kGroup> block;
#pragma GCC unroll 16
        for (int r = 0; r < kGroup; ++r) {
            const bool biased = head.keyBias && r < present;
            block.sum[r][0] = block.sum[r][1] =
                hn::Set(d, biased ? head.keyBias[start + key + r] * kLog2E : 0.0f);
        }
        multiplyAdd<kGroup>(head.headSize, head.keys + (start + key) * head.stride, head.stride, 1,
                            panel.queries, block);
        storeBlock(block, panel.scores + key * width, width);
#pragma GCC unroll 16
        for (int r = 0; r < kGroup; ++r) {
            if (r >= present) break;
            peak[0] = hn::Max(peak[0], block.sum[r][0]);
            peak[1] = hn::Max(peak[1], block.sum[r][1]);
        }
    }
}

// Scores become weights; what was summed up before shrinks to the new maximum.
HWY_INLINE void weighKeys(int count, int headSize, const Float (&peak)[2], Panel& panel) {
    const FloatTag d;
    const size_t width = panelWidth(), lanes = width / 2;
    for (int half = 0; half < 2; ++half) {
        const Float highest = hn::Max(panel.peak[half], peak[half]);
        const Float shrink = exp2(hn::Sub(panel.peak[half], highest));
        panel.peak[half] = highest;
        Float total = hn::Mul(panel.total[half], shrink);
        float* score = panel.scores + half * lanes;
        for (int key = 0; key < count; ++key, score += width) {
            const Float weight = exp2(hn::Sub(hn::Load(d, score), highest));
            hn::Store(weight, d, score);
            total = hn::Add(total, weight);
        }
        panel.total[half] = total;
        float* out = panel.output + half * lanes;
        for (int k = 0; k < headSize; ++k, out += width)
            hn::Store(hn::Mul(hn::Load(d, out), shrink), d, out);
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

HWY_INLINE void writeOutput(const AttentionHead& head, int first, const Panel& panel, float* output,
                            size_t stride) {
    const FloatTag d;
    const size_t width = panelWidth(), lanes = width / 2;
    for (int half = 0; half < 2; ++half) {
        const Float inverse = hn::Div(hn::Set(d, 1.0f), panel.total[half]);
        float* out = panel.output + half * lanes;
        for (int k = 0; k < head.headSize; ++k, out += width)
            hn::Store(hn::Mul(hn::Load(d, out), inverse), d, out);
    }
    const int present = std::min(static_cast<int>(width), head.tokens - first);
    for (int q = 0; q < present; ++q) {
        for (int k = 0; k < head.headSize; ++k)
            output[q * stride + k] = panel.output[k * width + q];
    }
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

// What attention does the same way in every precision: softmax by blocks of keys, and the way out.

#if defined(MPM_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_ATTENTION_INL_H_
#undef MPM_KERNELS_ATTENTION_INL_H_
#else
#define MPM_KERNELS_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/attention.hpp"
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

// Sums of scores start at the bias of their key.
HWY_INLINE void startScores(const AttentionHead& head, int firstKey, int present, Block<kGroup>& block) {
#pragma GCC unroll 16
    for (int r = 0; r < kGroup; ++r) {
        const bool biased = head.keyBias && r < present;
        block.sum[r][0] = block.sum[r][1] =
            hn::Set(FloatTag(), biased ? head.keyBias[firstKey + r] * kLog2E : 0.0f);
    }
}

HWY_INLINE void keepScores(const Block<kGroup>& block, int present, float* scores, Float (&peak)[2]) {
    storeBlock(block, scores, panelWidth());
#pragma GCC unroll 16
    for (int r = 0; r < kGroup; ++r) {
        if (r >= present) break;
        peak[0] = hn::Max(peak[0], block.sum[r][0]);
        peak[1] = hn::Max(peak[1], block.sum[r][1]);
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

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

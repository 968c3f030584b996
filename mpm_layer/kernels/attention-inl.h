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

// Rows become columns, and columns rows, by pieces of four: as many as Highway (un)interleaves at once.
constexpr int kPiece = 4;

/// Lays `present` rows of `count` elements as the columns of a panel; columns that are not there are zero.
template <class T>
HWY_INLINE void packColumns(const T* rows, size_t stride, int present, int count, T* panel) {
    const hn::ScalableTag<T> d;
    const int width = static_cast<int>(panelWidth()), lanes = width / 2;
    HWY_ALIGN T pieces[kPiece * HWY_MAX_BYTES / sizeof(T)];
    for (int first = 0; first < width; first += lanes) {
        const int here = std::clamp(present - first, 0, lanes);
        std::fill(pieces + here * kPiece, pieces + lanes * kPiece, T(0));
        int k = 0;
        for (; k + kPiece <= count; k += kPiece) {
            for (int q = 0; q < here; ++q)
                std::copy_n(rows + (first + q) * stride + k, kPiece, pieces + q * kPiece);
            hn::Vec<decltype(d)> v0, v1, v2, v3;
            hn::LoadInterleaved4(d, pieces, v0, v1, v2, v3);
            T* to = panel + k * width + first;
            hn::Store(v0, d, to);
            hn::Store(v1, d, to + width);
            hn::Store(v2, d, to + 2 * width);
            hn::Store(v3, d, to + 3 * width);
        }
        for (; k < count; ++k) {
            for (int q = 0; q < lanes; ++q)
                panel[k * width + first + q] = q < here ? rows[(first + q) * stride + k] : T(0);
        }
    }
}

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

// What was summed up before shrinks to the new maximum. Returns the running sum of one half's weights,
// likewise.
HWY_INLINE Float shrinkTo(Float highest, int half, int headSize, Panel& panel) {
    const FloatTag d;
    const size_t width = panelWidth();
    const Float shrink = exp2(hn::Sub(panel.peak[half], highest));
    panel.peak[half] = highest;
    float* out = panel.output + half * width / 2;
    for (int k = 0; k < headSize; ++k, out += width)
        hn::Store(hn::Mul(hn::Load(d, out), shrink), d, out);
    return hn::Mul(panel.total[half], shrink);
}

/// Writes one half of `count` rows as columns: element (k, q), finished, goes to output[q * stride + k].
template <class Finish>
HWY_INLINE void storeColumns(const float* rows, int count, int columns, const Finish& finish, float* output,
                             size_t stride) {
    const FloatTag d;
    const size_t width = panelWidth();
    HWY_ALIGN float pieces[kPiece * HWY_MAX_BYTES / sizeof(float)];
    const auto row = [&](int k) { return finish(hn::Load(d, rows + k * width)); };
    int k = 0;
    for (; k + kPiece <= count; k += kPiece) {
        hn::StoreInterleaved4(row(k), row(k + 1), row(k + 2), row(k + 3), d, pieces);
        for (int q = 0; q < columns; ++q)
            std::copy_n(pieces + q * kPiece, kPiece, output + q * stride + k);
    }
    for (; k < count; ++k) {
        hn::Store(row(k), d, pieces);
        for (int q = 0; q < columns; ++q)
            output[q * stride + k] = pieces[q];
    }
}

HWY_INLINE void writeOutput(const AttentionHead& head, int first, const Panel& panel, float* output,
                            size_t stride) {
    const int lanes = static_cast<int>(panelWidth() / 2);
    for (int half = 0; half < 2; ++half) {
        const int present = std::min(lanes, head.tokens - first - half * lanes);
        if (present <= 0) return;
        const Float inverse = hn::Div(hn::Set(FloatTag(), 1.0f), panel.total[half]);
        storeColumns(
            panel.output + half * lanes, head.headSize, present,
            [&](Float sum) { return hn::Mul(sum, inverse); }, output + half * lanes * stride, stride);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

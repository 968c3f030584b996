// The code of attention that all precisions share: the softmax over groups of keys, and writing the output.

#if defined(MPM_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_ATTENTION_INL_H_
#undef MPM_KERNELS_ATTENTION_INL_H_
#else
#define MPM_KERNELS_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <limits>
#include <type_traits>

#include "mpm_layer/kernels/attention/attention.hpp"
#include "mpm_layer/kernels/common/functions-inl.h"
#include "mpm_layer/kernels/product/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// In a block of scores, each row is for a key, each lane of a vector for a query. So the softmax computes
// maxima and sums lane by lane. The weights form a panel: the right operand of the product with the values. A
// pass computes the weights of as many keys as fit in a buffer, then adds the weighted values to the output.

// Each query has its own peak, and the weight of a key is 2^(score - peak). Raising a peak takes time,
// because all sums of the query must be scaled. So a peak is raised only if a score exceeds the peak by more
// than kSlack. Because the peaks are separate, the bits of a query's output do not depend on other queries.
constexpr float kSlack = 8.0f;

// The state of a panel of queries. V vectors of the panel are in use: 1 if the remaining queries of the head
// fit in a vector, else 2.
template <int V>
struct Panel {
    float* output;   // the transposed output, [headSize][width]
    float* earlier;  // like `output`, with the sums of earlier passes; if null, all passes add to `output`
    Float peak[V];   // for each query, the score whose weight is 1
    Float total[V];  // for each query, the sum of the weights so far

    HWY_INLINE explicit Panel(float* output, float* earlier = nullptr) : output(output), earlier(earlier) {
        const FloatTag d;
        for (int v = 0; v < V; ++v) {
            peak[v] = hn::Set(d, std::numeric_limits<float>::lowest());
            total[v] = hn::Zero(d);
        }
    }
};

/// Calls attend(std::integral_constant<int, V>()) with the V of the Panel that begins at query `first`.
template <class Attend>
HWY_INLINE void withVectors(const AttentionHead& head, int first, const Attend& attend) {
    if (head.queriesFrom(first) > static_cast<int>(panelWidth() / 2)) {
        attend(std::integral_constant<int, 2>());
    } else {
        attend(std::integral_constant<int, 1>());
    }
}

// Sets the sums of a block to the biases of the block's keys, or to zero if there are no biases.
template <int V>
HWY_INLINE void startScores(const AttentionHead& head, int firstKey, int present, Block<kGroup, V>& block) {
    clearBlock(block);
    if (!head.keyBias) return;
#pragma GCC unroll 16
    for (int r = 0; r < kGroup; ++r) {
        if (r >= present) break;
        for (int v = 0; v < V; ++v)
            block.sum[r][v] = hn::Set(FloatTag(), head.keyBias[firstKey + r] * kLog2E);
    }
}

/// Sets the scores of missing keys, from row `present` on, to minus infinity, so that their weights are 0.
template <int V>
HWY_INLINE void hideMissing(int present, Block<kGroup, V>& block) {
#pragma GCC unroll 16
    for (int r = 1; r < kGroup; ++r) {
        for (int v = 0; v < V && r >= present; ++v)
            block.sum[r][v] = hn::Set(FloatTag(), -std::numeric_limits<float>::infinity());
    }
}

template <int V>
HWY_INLINE Float highestScore(const Block<kGroup, V>& block, int v) {
    Float even = block.sum[0][v], odd = block.sum[1][v];
#pragma GCC unroll 16
    for (int r = 2; r < kGroup; r += 2) {
        even = hn::Max(even, block.sum[r][v]);
        odd = hn::Max(odd, block.sum[r + 1][v]);
    }
    return hn::Max(even, odd);
}

template <int V>
HWY_INLINE bool exceeds(const Float (&highest)[V], const Panel<V>& panel) {
    const FloatTag d;
    auto higher = hn::Gt(highest[0], hn::Add(panel.peak[0], hn::Set(d, kSlack)));
    for (int v = 1; v < V; ++v)
        higher = hn::Or(higher, hn::Gt(highest[v], hn::Add(panel.peak[v], hn::Set(d, kSlack))));
    return !hn::AllFalse(d, higher);
}

/// Raises each peak that is too low, and scales the sums of its query. For all other queries, the factor is
/// exactly 1, so the bits of their sums do not change.
template <int V>
HWY_INLINE void raisePeaks(const Float (&highest)[V], int headSize, Panel<V>& panel) {
    const FloatTag d;
    const size_t width = panelWidth();
    for (int v = 0; v < V; ++v) {
        const Float old = panel.peak[v];
        panel.peak[v] = hn::IfThenElse(hn::Gt(highest[v], hn::Add(old, hn::Set(d, kSlack))), highest[v], old);
        const Float shrink = exp2(hn::Sub(old, panel.peak[v]));
        panel.total[v] = hn::Mul(panel.total[v], shrink);
        for (float* sums : {panel.output, panel.earlier}) {
            if (!sums) continue;
            float* out = sums + v * width / 2;
            for (int k = 0; k < headSize; ++k, out += width)
                hn::Store(hn::Mul(hn::Load(d, out), shrink), d, out);
        }
    }
}

/// Adds the sums of a pass to the sums of earlier passes, and clears the sums of the pass. If the values of
/// all passes were added to the same sums one after another, rounding errors would be several times as large.
template <int V>
HWY_INLINE void endPass(int headSize, const Panel<V>& panel) {
    const FloatTag d;
    const size_t size = headSize * panelWidth();
    for (size_t i = 0; i < size; i += hn::Lanes(d)) {
        const Float sum = hn::Add(hn::Load(d, panel.earlier + i), hn::Load(d, panel.output + i));
        hn::Store(sum, d, panel.earlier + i);
        hn::Store(hn::Zero(d), d, panel.output + i);
    }
}

/// Processes all keys of a head, a group at a time, with three functions:
/// - score(first, block) adds the scores of the group at key `first` to a block.
/// - weigh(block, at) turns the scores into weights and stores them at key `at` of a buffer for `room` keys.
/// - add(first, count) adds the values of keys first..first+count, multiplied by the weights in the buffer,
///   to the output.
template <int V, class Score, class Weigh, class Add>
HWY_INLINE void attendKeys(const AttentionHead& head, int room, Panel<V>& panel, const Score& score,
                           const Weigh& weigh, const Add& add) {
    int waiting = 0;
    for (int key = 0; key < head.tokens; key += kGroup) {
        const int present = std::min(kGroup, head.tokens - key);
        Block<kGroup, V> block;
        startScores(head, key, present, block);
        score(key, block);
        if (present < kGroup) hideMissing(present, block);
        Float highest[V];
        for (int v = 0; v < V; ++v)
            highest[v] = highestScore(block, v);
        const bool higher = exceeds(highest, panel);
        const bool passEnds = panel.earlier && key > 0 && key % room == 0;
        if (waiting > 0 && (higher || passEnds || waiting == room)) {
            add(key - waiting, waiting);
            waiting = 0;
        }
        if (passEnds) endPass(head.headSize, panel);
        if (higher) raisePeaks(highest, head.headSize, panel);
        weigh(block, waiting);
        waiting += present;
    }
    add(head.tokens - waiting, waiting);
}

/// Transposes `count` rows of a panel: output[q * stride + k] = finish(element q of row k) for each
/// q < `columns`. `columns` is at most the number of lanes of a vector.
template <class Finish>
HWY_INLINE void writeColumns(const float* rows, int count, int columns, const Finish& finish, float* output,
                             size_t stride) {
    const FloatTag d;
    const size_t width = panelWidth();
    const auto row = [&](int k) { return finish(hn::Load(d, rows + k * width)); };
    int k = 0;
    for (; k + kSquare <= count; k += kSquare) {
        storeColumns(d, row(k), row(k + 1), row(k + 2), row(k + 3), output + k, stride, columns - 1);
    }
    HWY_ALIGN float last[HWY_MAX_BYTES / sizeof(float)];
    for (; k < count; ++k) {
        hn::Store(row(k), d, last);
        for (int q = 0; q < columns; ++q)
            output[q * stride + k] = last[q];
    }
}

template <int V>
HWY_INLINE void writeOutput(const AttentionHead& head, int first, const Panel<V>& panel, float* output,
                            size_t stride) {
    const int lanes = static_cast<int>(panelWidth() / 2);
    for (int v = 0; v < V; ++v) {
        const int present = std::min(lanes, head.queriesFrom(first + v * lanes));
        const Float inverse = hn::Div(hn::Set(FloatTag(), 1.0f), panel.total[v]);
        writeColumns(
            panel.output + v * lanes, head.headSize, present,
            [&](Float sum) { return hn::Mul(sum, inverse); }, output + v * lanes * stride, stride);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

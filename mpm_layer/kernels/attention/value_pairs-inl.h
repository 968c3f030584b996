// Attention weights as pairs of bf16, and their product with the values.

#if defined(MPM_KERNELS_VALUE_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_VALUE_PAIRS_INL_H_
#undef MPM_KERNELS_VALUE_PAIRS_INL_H_
#else
#define MPM_KERNELS_VALUE_PAIRS_INL_H_
#endif

#include "mpm_layer/kernels/attention/values-inl.h"
#include "mpm_layer/kernels/product/pairs-inl.h"

MPM_BEFORE_NAMESPACE_BF16();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

#if MPM_HAS_BF16

struct ValuePairs {
    const Bf16Pair* pairs;
    size_t stride;
    int columns;
};

// The number of keys in a pass. The weights of a pass (480 keys x 32 queries x 2 bytes = 30 KiB) stay in the
// level-1 cache.
constexpr int kKeyBlockBf16 = 40 * kGroup;

/// Turns the scores of a block into weights. Stores the weights of keys 2i and 2i + 1 as a pair, for the
/// product with the values.
template <int V>
HWY_INLINE void weighScorePairs(const Block<kGroup, V>& block, Panel<V>& panel, Bf16Pair* weights) {
    static_assert(kGroup % 2 == 0, "pairs of keys must not straddle groups");
    const FloatTag d;
    const size_t width = panelWidth();
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        Float total[2] = {hn::Zero(d), hn::Zero(d)};
#pragma GCC unroll 16
        for (int r = 0; r < kGroup; r += 2) {
            const Float low = exp2Coarse(hn::Sub(block.sum[r][v], panel.peak[v]));
            const Float high = exp2Coarse(hn::Sub(block.sum[r + 1][v], panel.peak[v]));
            _mm512_store_si512(weights + r / 2 * width + v * width / 2, pairUp(low.raw, high.raw));
            total[0] = hn::Add(total[0], low);
            total[1] = hn::Add(total[1], high);
        }
        panel.total[v] = hn::Add(panel.total[v], hn::Add(total[0], total[1]));
    }
}

template <int V>
HWY_NOINLINE void addValuePairs(const ValuePairs& values, int start, int count, const Bf16Pair* weights,
                                float* output) {
    addColumns<V>(values.columns, output, [&](auto& block, int column) HWY_ATTR {
        multiplyAddPairs(pairsOf(count), values.pairs + start / 2 * values.stride + column, 1, values.stride,
                         weights, block);
    });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

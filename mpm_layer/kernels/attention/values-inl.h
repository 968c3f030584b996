// Attention weights in f32, and their product with the values.

#if defined(MPM_KERNELS_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_VALUES_INL_H_
#undef MPM_KERNELS_VALUES_INL_H_
#else
#define MPM_KERNELS_VALUES_INL_H_
#endif

#include "mpm_layer/kernels/attention/attention-inl.h"
#include "mpm_layer/kernels/product/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// The number of keys in a pass. The weights of a pass (at most 240 keys x 32 queries x 4 bytes = 30 KiB)
// stay in the level-1 cache.
constexpr int kKeyBlock = 20 * kGroup;

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

/// Calls add(block, column) for each complete block of R columns from `column` on, and advances `column`. If
/// 16 columns remain, leaves them to smaller blocks of equal height: two of 8, or four of 4 if kGroup is 6.
template <int R, int V, class Add>
HWY_INLINE void addBlocks(int columns, int& column, float* output, const Add& add) {
    const size_t width = panelWidth();
    for (; columns - column >= R && (R != kGroup || columns - column != 16); column += R) {
        Block<R, V> block;
        loadBlock(output + column * width, width, block);
        add(block, column);
        storeBlock(block, output + column * width, width);
    }
}

/// Calls add(block, column) for blocks that together cover all columns of the output. Each block fits in
/// registers. The last blocks are smaller, so that only existing columns are computed.
template <int V, class Add>
HWY_INLINE void addColumns(int columns, float* output, const Add& add) {
    int column = 0;
    addBlocks<kGroup, V>(columns, column, output, add);
    if constexpr (kGroup > 8) addBlocks<8, V>(columns, column, output, add);
    addBlocks<4, V>(columns, column, output, add);
    addBlocks<1, V>(columns, column, output, add);
}

template <int V>
HWY_NOINLINE void addValues(const AttentionHead& head, int start, int count, const float* weights,
                            float* output) {
    addColumns<V>(head.headSize, output, [&](auto& block, int column) HWY_ATTR {
        multiplyAddBeside(count, head.values + start * head.stride + column, head.stride, weights, block);
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

// An epilogue that rounds sums to pairs of bf16.

#if defined(MPM_KERNELS_PAIR_TARGET_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_PAIR_TARGET_INL_H_
#undef MPM_KERNELS_PAIR_TARGET_INL_H_
#else
#define MPM_KERNELS_PAIR_TARGET_INL_H_
#endif

#include <algorithm>

#include "mpm_layer/kernels/product/epilogue-inl.h"
#include "mpm_layer/kernels/product/pairs-inl.h"

#if MPM_HAS_BF16

MPM_BEFORE_NAMESPACE_BF16();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// Stores sums as pairs. If the number of columns is odd, a zero completes the last pair.
struct PairTarget {
    PairRows output;

    template <int R>
    HWY_INLINE void finish(Block<R>& block, const Epilogue& epilogue, int row, int rows, int column,
                           int columns) const {
        applyEpilogue<GeluCoarse>(epilogue, row, rows, column, columns, block);
        Bf16Pair* to = output.data + row * output.stride + column / 32 * output.pieceStep;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            if (r >= rows) break;
            store((__m512i)_mm512_cvtne2ps_pbh(block.sum[r][1].raw, block.sum[r][0].raw),
                  to + r * output.stride, columns);
        }
    }

private:
    static HWY_INLINE void store(__m512i pairs, Bf16Pair* to, int columns) {
        if (columns >= 32) {
            _mm512_storeu_si512(to, pairs);
        } else {
            HWY_ALIGN Bf16Pair lanes[16];
            _mm512_store_si512(lanes, pairs);
            std::copy_n(lanes, pairsOf(columns), to);
        }
    }
};

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

#endif

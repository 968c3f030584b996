// Products on 64-bit Arm, whose instructions can multiply by a single lane of a vector. So a single load
// serves several elements of the left operand. Sums are added in the same order as in multiplyAddSteps.

#if defined(MPM_KERNELS_LANES_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_LANES_NEON_INL_H_
#undef MPM_KERNELS_LANES_NEON_INL_H_
#else
#define MPM_KERNELS_LANES_NEON_INL_H_
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"

#if HWY_TARGET == HWY_NEON

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// Adds left[i] * columns[v] to sums[R0 + i][v]; each of the four lanes of `left` belongs to a row.
template <int R0, int R, int V>
HWY_INLINE void addFourRows(float32x4_t left, const Float (&columns)[V], Float (&sums)[R][V]) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        sums[R0][v].raw = vfmaq_laneq_f32(sums[R0][v].raw, columns[v].raw, left, 0);
        sums[R0 + 1][v].raw = vfmaq_laneq_f32(sums[R0 + 1][v].raw, columns[v].raw, left, 1);
        sums[R0 + 2][v].raw = vfmaq_laneq_f32(sums[R0 + 2][v].raw, columns[v].raw, left, 2);
        sums[R0 + 3][v].raw = vfmaq_laneq_f32(sums[R0 + 3][v].raw, columns[v].raw, left, 3);
    }
}

/// Adds rows * panel to the sums. The left operand is transposed: element (r, k) is rows[r + k * depthStep].
/// R is 4, 8 or 12.
template <int R, int V>
HWY_INLINE void addRowsByLane(int depth, const float* HWY_RESTRICT rows, size_t depthStep,
                              const float* HWY_RESTRICT panel, Float (&sums)[R][V]) {
    static_assert(R % 4 == 0 && R <= 12, "whole vectors of rows");
    const FloatTag d;
    for (int k = 0; k < depth; ++k, rows += depthStep, panel += 8) {
        Float columns[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            columns[v] = hn::LoadU(d, panel + 4 * v);
        addFourRows<0>(vld1q_f32(rows), columns, sums);
        if constexpr (R > 4) addFourRows<4>(vld1q_f32(rows + 4), columns, sums);
        if constexpr (R > 8) addFourRows<8>(vld1q_f32(rows + 8), columns, sums);
    }
}

/// Returns sum + columns * row[Lane].
template <int Lane>
HWY_INLINE Float addByLane(Float sum, Float columns, float32x2_t row) {
    // GCC 12 moves intrinsics far from their loads and runs out of registers. Assembler code stays in order.
    asm volatile("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum.raw) : "w"(columns.raw), "w"(row), "i"(Lane));
    return sum;
}

/// Adds rows * panel to the sums, two elements of a row at a time; element (r, k) is rows[r * rowStep + k].
/// Returns how much of the depth is done: `depth`, or `depth` - 1 if `depth` is odd.
template <int R, int V, class Ahead>
HWY_INLINE int addDepthsByLane(int depth, const float* HWY_RESTRICT rows, size_t rowStep,
                               const float* HWY_RESTRICT panel, Float (&sums)[R][V], Ahead& ahead) {
    const FloatTag d;
    constexpr int kBases = (R + 2) / 3;  // as in multiplyAddSteps
    const float* base[kBases];
    for (int i = 0; i < kBases; ++i)
        base[i] = rows + 3 * i * rowStep;
    int k = 0;
    for (; k + 2 <= depth; k += 2, panel += 16) {
        ahead.step(2);
        Float first[V], second[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            first[v] = hn::LoadU(d, panel + 4 * v);
            second[v] = hn::LoadU(d, panel + 8 + 4 * v);
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const float32x2_t two = vld1_f32(base[r / 3] + (r % 3) * rowStep + k);
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) {
                sums[r][v] = addByLane<0>(sums[r][v], first[v], two);
                sums[r][v] = addByLane<1>(sums[r][v], second[v], two);
            }
        }
    }
    return k;
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif  // HWY_NEON

#endif

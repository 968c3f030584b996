// Products of bytes on 64-bit Arm: with `smmla`, with `sdot`, or with 16-bit instructions, which every
// processor has. Both operands are signed bytes, never -128.

#if defined(MPM_KERNELS_DOTS_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_DOTS_NEON_INL_H_
#undef MPM_KERNELS_DOTS_NEON_INL_H_
#else
#define MPM_KERNELS_DOTS_NEON_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"
#include "mpm_layer/kernels/product/i8.hpp"

#if HWY_TARGET == HWY_NEON

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

using Int = hn::Vec<hn::ScalableTag<std::int32_t>>;

// `sdot` and `smmla` are written in assembler. If the compiler were allowed to use these instructions, it
// would also use them in code for processors without them.
#define MPM_ARM_INT8 ".arch armv8.2-a+crypto+dotprod+i8mm\n\t"

struct DotSdot {
    static constexpr ByteForm form(Finer) { return {0, 127, 127}; }
    static constexpr bool kByLane = true, kTwoRows = false;

    static HWY_INLINE Int add(Int sum, Int left, Int right) {
        asm(MPM_ARM_INT8 "sdot %0.4s, %1.16b, %2.16b" : "+w"(sum.raw) : "w"(left.raw), "w"(right.raw));
        return sum;
    }

    static HWY_INLINE int32x2_t twoQuads(const I8Quad* quads) {
        return vld1_s32(reinterpret_cast<const std::int32_t*>(quads));
    }

    template <int Lane>
    static HWY_INLINE Int addLane(Int sum, int32x2_t left, Int right) {
        asm volatile(MPM_ARM_INT8 "sdot %0.4s, %1.16b, %2.4b[%3]"
                     : "+w"(sum.raw)
                     : "w"(right.raw), "w"(left), "i"(Lane));
        return sum;
    }
};

/// Uses `smmla`, which multiplies two rows of eight bytes by two columns of eight bytes. See addTwoQuads.
struct DotSmmla : DotSdot {
    static constexpr bool kTwoRows = true;

    static HWY_INLINE int32x4_t addSquare(int32x4_t sum, int32x4_t left, int32x4_t right) {
        asm volatile(MPM_ARM_INT8 "smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(left), "w"(right));
        return sum;
    }
};

#undef MPM_ARM_INT8

/// Adds two products in 16 bits. The sum always fits, because no byte is -128.
struct DotPlain {
    static constexpr ByteForm form(Finer) { return {0, 127, 127}; }
    static constexpr bool kByLane = false, kTwoRows = false;

    static HWY_INLINE Int add(Int sum, Int left, Int right) {
        const int8x16_t l = vreinterpretq_s8_s32(left.raw), r = vreinterpretq_s8_s32(right.raw);
        const int16x8_t low = vmull_s8(vget_low_s8(l), vget_low_s8(r));
        const int16x8_t high = vmull_high_s8(l, r);
        return Int{vpadalq_s16(sum.raw, vpaddq_s16(low, high))};
    }
};

/// The sums of R rows and V vectors of columns. An int32x4_t has the four sums of two rows and two columns.
template <int R, int V>
struct SquareBlock {
    int32x4_t sum[R / 2][2 * V];
};

/// Two neighbouring quads of each of four columns: columns 0 and 1 in `low`, columns 2 and 3 in `high`.
struct ColumnPairs {
    HWY_INLINE ColumnPairs(int32x4_t first, int32x4_t second)
        : low(vzip1q_s32(first, second)), high(vzip2q_s32(first, second)) {}

    int32x4_t low, high;
};

/// Adds the products of two quads of each row. left(r) returns the two quads of row r. The first quads of
/// the columns are at `panel`; second(v) returns the second quads of vector v of the columns.
template <int R, int V, class Left, class Second>
HWY_INLINE void addTwoQuads(const Left& left, const std::int32_t* panel, const Second& second,
                            SquareBlock<R, V>& block) {
    int32x4_t columns[2 * V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        const ColumnPairs pairs(vld1q_s32(panel + 4 * v), second(v));
        columns[2 * v] = pairs.low, columns[2 * v + 1] = pairs.high;
    }
#pragma GCC unroll 16
    for (int p = 0; p < R / 2; ++p) {
        const int32x4_t rows = vcombine_s32(left(2 * p), left(2 * p + 1));
#pragma GCC unroll 4
        for (int c = 0; c < 2 * V; ++c)
            block.sum[p][c] = DotSmmla::addSquare(block.sum[p][c], rows, columns[c]);
    }
}

/// Computes the dot products of R rows with the columns in V vectors of a panel. Stores them as [R][8].
/// Strides are in quads.
template <int R, int V, class Ahead>
HWY_INLINE void storeSquares(int quads, const I8Quad* rows, size_t rowStep, const I8Quad* panel,
                             std::int32_t* sums, Ahead ahead) {
    SquareBlock<R, V> block = {};
    const auto* left = reinterpret_cast<const std::int32_t*>(rows);
    const auto* right = reinterpret_cast<const std::int32_t*>(panel);
    int k = 0;
    for (; k + 2 <= quads; k += 2, right += 16) {
        ahead.step(2);
        addTwoQuads([&](int r) HWY_ATTR { return vld1_s32(left + r * rowStep + k); }, right,
                    [&](int v) HWY_ATTR { return vld1q_s32(right + 8 + 4 * v); }, block);
    }
    if (k < quads) {
        const int32x2_t none = vdup_n_s32(0);
        addTwoQuads([&](int r) HWY_ATTR { return vld1_lane_s32(left + r * rowStep + k, none, 0); }, right,
                    [&](int) HWY_ATTR { return vdupq_n_s32(0); }, block);
    }
#pragma GCC unroll 16
    for (int p = 0; p < R / 2; ++p) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            const int64x2_t low = vreinterpretq_s64_s32(block.sum[p][2 * v]);
            const int64x2_t high = vreinterpretq_s64_s32(block.sum[p][2 * v + 1]);
            vst1q_s32(sums + 16 * p + 4 * v, vreinterpretq_s32_s64(vzip1q_s64(low, high)));
            vst1q_s32(sums + 16 * p + 8 + 4 * v, vreinterpretq_s32_s64(vzip2q_s64(low, high)));
        }
    }
}

/// Replaces largestOf() in quads-inl.h, which is for other instruction sets.
HWY_INLINE float largestOf(const float* row, int width) {
    const uint32x4_t sign = vdupq_n_u32(0x80000000u);
    uint32x4_t peaks[2] = {vdupq_n_u32(0), vdupq_n_u32(0)};
    const auto bits = [sign](float32x4_t v) HWY_ATTR { return vbicq_u32(vreinterpretq_u32_f32(v), sign); };
    int k = 0;
    for (; k + 16 <= width; k += 16) {
        peaks[0] = vmaxq_u32(peaks[0], bits(vld1q_f32(row + k)));
        peaks[1] = vmaxq_u32(peaks[1], bits(vld1q_f32(row + k + 4)));
        peaks[0] = vmaxq_u32(peaks[0], bits(vld1q_f32(row + k + 8)));
        peaks[1] = vmaxq_u32(peaks[1], bits(vld1q_f32(row + k + 12)));
    }
    for (; k < width; k += 4)
        peaks[0] = vmaxq_u32(peaks[0], bits(loadPart(row + k, width - k).raw));
    const std::uint32_t peak = vmaxvq_u32(vmaxq_u32(peaks[0], peaks[1]));
    constexpr std::uint32_t kInfinite = 0x7F800000u;
    if (peak >= kInfinite) return std::numeric_limits<float>::quiet_NaN();
    float largest;
    std::memcpy(&largest, &peak, sizeof largest);
    return largest;
}

/// Quantises sixteen values to bytes. Adding `magic` rounds a value's steps and puts them in the low byte.
HWY_INLINE int8x16_t bytesOfSteps(const float* from, float32x4_t inverse, float32x4_t zero,
                                  float32x4_t magic) {
    int16x8_t steps[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        steps[i] = vreinterpretq_s16_f32(vfmaq_f32(magic, vsubq_f32(vld1q_f32(from + 4 * i), zero), inverse));
    const int16x8_t low = vuzp1q_s16(steps[0], steps[1]), high = vuzp1q_s16(steps[2], steps[3]);
    return vuzp1q_s8(vreinterpretq_s8_s16(low), vreinterpretq_s8_s16(high));
}

/// Replaces roundToQuads() in quads-inl.h, which is for other instruction sets.
HWY_INLINE void roundToQuads(const float* row, int width, float inverse, int offset, I8Quad* quads,
                             float zero = 0) {
    auto* to = reinterpret_cast<std::int8_t*>(quads);
    const float32x4_t by = vdupq_n_f32(inverse), least = vdupq_n_f32(zero);
    const float32x4_t magic = vdupq_n_f32(12582912.0f + static_cast<float>(offset));
    int k = 0;
    for (; k + 16 <= width; k += 16)
        vst1q_s8(to + k, bytesOfSteps(row + k, by, least, magic));
    if (k == width) return;
    HWY_ALIGN float rest[16] = {};
    HWY_ALIGN std::int8_t last[16];
    std::copy_n(row + k, width - k, rest);
    vst1q_s8(last, bytesOfSteps(rest, by, least, magic));
    std::copy_n(last, quadsOf(width - k) * 4, to + k);
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif  // HWY_NEON

#endif

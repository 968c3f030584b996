// On x86, an instruction multiplies twice as many 16-bit words as floats, so the screen multiplies words and
// adds the products in 32 bits. On other processors, the screen multiplies floats. Each class multiplies a
// row group by a panel; every sum starts at `margin`.

#if defined(MPM_KERNELS_SCREEN_OPERANDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_SCREEN_OPERANDS_INL_H_
#undef MPM_KERNELS_SCREEN_OPERANDS_INL_H_
#else
#define MPM_KERNELS_SCREEN_OPERANDS_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "mpm_layer/kernels/product/microkernel-inl.h"
#include "mpm_layer/kernels/product/quads-inl.h"

#undef MPM_SCREENS_WORDS

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

struct FloatOperand {
    template <int R>
    static HWY_NOINLINE void multiply(int depth, const float* rows, size_t stride, const float* panel,
                                      float margin, float* sums, PanelAhead ahead) {
        const Float start = hn::Set(FloatTag(), margin);
        Block<R> block;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
            block.sum[r][0] = block.sum[r][1] = start;
        multiplyAdd<R>(depth, rows, stride, panel, block, ahead);
        storeBlock(block, sums, panelWidth());
    }

    static HWY_INLINE Float load(const float* sums) {
        return hn::Load(FloatTag(), sums);
    }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
#define MPM_SCREENS_WORDS 1

/// Each lane has two words. Adds the products of both words to the lane's sum.
struct WordsPlain {
    static HWY_INLINE Int add(Int sum, Int left, Int right) {
#if HWY_TARGET <= HWY_AVX3
        return Int{_mm512_add_epi32(sum.raw, _mm512_madd_epi16(left.raw, right.raw))};
#elif HWY_TARGET == HWY_AVX2
        return Int{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(left.raw, right.raw))};
#else
        return Int{_mm_add_epi32(sum.raw, _mm_madd_epi16(left.raw, right.raw))};
#endif
    }
};

#if MPM_HAS_VNNI
struct WordsVnni {
    static HWY_INLINE Int add(Int sum, Int left, Int right) {
#if HWY_TARGET <= HWY_AVX3
        return Int{_mm512_dpwssd_epi32(sum.raw, left.raw, right.raw)};
#else
        return Int{_mm256_dpwssd_avx_epi32(sum.raw, left.raw, right.raw)};
#endif
    }
};
#endif

template <class Words>
struct WordOperand {
    template <int R>
    static HWY_NOINLINE void multiply(int depth, const float* rows, size_t stride, const float* panel,
                                      float margin, float* sums, PanelAhead ahead) {
        const IntTag d;
        const size_t lanes = hn::Lanes(d);
        const Sum start = asSum(hn::Set(d, static_cast<std::int32_t>(margin)));
        const auto* cells = reinterpret_cast<const std::int32_t*>(rows);
        const auto* columns = reinterpret_cast<const std::int32_t*>(panel);
        IntBlock<R> block;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
            block.sum[r][0] = block.sum[r][1] = start;
        constexpr int kBases = (R + 2) / 3;
        const std::int32_t* base[kBases];
        for (int i = 0; i < kBases; ++i)
            base[i] = cells + 3 * i * stride;
        for (int k = 0; k < depth; ++k, columns += 2 * lanes) {
            const Int left = hn::Load(d, columns), right = hn::Load(d, columns + lanes);
            ahead.step();
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                const Int row = hn::Set(d, base[r / 3][(r % 3) * stride + k]);
                block.sum[r][0] = asSum(Words::add(block.at(r, 0), row, left));
                block.sum[r][1] = asSum(Words::add(block.at(r, 1), row, right));
            }
        }
        auto* to = reinterpret_cast<std::int32_t*>(sums);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r, to += 2 * lanes) {
            hn::Store(block.at(r, 0), d, to);
            hn::Store(block.at(r, 1), d, to + lanes);
        }
    }

    static HWY_INLINE Float load(const float* sums) {
        return hn::ConvertTo(FloatTag(), hn::Load(IntTag(), reinterpret_cast<const std::int32_t*>(sums)));
    }
};

#else
#define MPM_SCREENS_WORDS 0
#endif

/// Calls run(Operand()) with the operand for words or floats.
template <class Run>
HWY_INLINE void withOperand([[maybe_unused]] bool words, const Run& run) {
#if MPM_HAS_VNNI
    static const bool vnni = hasDot();
    if (words && vnni) return run(WordOperand<WordsVnni>());
#endif
#if MPM_SCREENS_WORDS
    if (words) return run(WordOperand<WordsPlain>());
#endif
    run(FloatOperand());
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

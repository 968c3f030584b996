// Pairs of bf16 in AVX-512 BF16: the loop of their products, and rounding to pairs.

#if defined(MPM_KERNELS_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_PAIRS_INL_H_
#undef MPM_KERNELS_PAIRS_INL_H_
#else
#define MPM_KERNELS_PAIRS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "mpm_layer/kernels/common/isa.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/microkernel-inl.h"
#include "mpm_layer/kernels/product/tiles-inl.h"

// Highway 1.0 has no target with AVX-512 BF16; in later versions, some targets above AVX3 have it. So this
// file enables AVX-512 BF16 for AVX3 and all better targets, and hasPairs() checks the processor at run
// time. The same applies to AMX, which multiplies bf16 many times faster on the newest Intel processors.
#undef MPM_HAS_BF16
#undef MPM_BEFORE_NAMESPACE_BF16
#if HWY_TARGET <= HWY_AVX3 && defined(__GNUC__) && (__GNUC__ >= 11 || defined(__clang__))
#define MPM_HAS_BF16 1
#define MPM_BEFORE_NAMESPACE_BF16() HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16" MPM_TILES_TARGET)
#else
#define MPM_HAS_BF16 0
#define MPM_BEFORE_NAMESPACE_BF16() HWY_BEFORE_NAMESPACE()
#endif

MPM_BEFORE_NAMESPACE_BF16();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

#if MPM_HAS_BF16

inline bool hasPairs() {
    return __builtin_cpu_supports("avx512bf16") && allowsBf16();
}

inline bool hasTiles() {
#if MPM_HAS_TILES
    static const bool may = hasPairs() && allowsAmx() && mayUseTiles();
    return may;
#else
    return false;
#endif
}

HWY_INLINE __m512i pairUp(__m512 low, __m512 high) {
    // The conversion puts all elements of `low` before those of `high`; the permutation interleaves them.
    HWY_ALIGN static constexpr std::uint16_t kAlternate[] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                             21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                             11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_load_si512(kAlternate), (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/// Like multiplyAdd for f32; strides are in pairs.
template <int R, int V, class Ahead = NothingAhead>
HWY_INLINE void multiplyAddPairs(int pairs, const Bf16Pair* HWY_RESTRICT rows, size_t rowStep,
                                 size_t depthStep, const Bf16Pair* HWY_RESTRICT panel, Block<R, V>& block,
                                 Ahead ahead = {}) {
    constexpr int kBases = (R + 2) / 3;
    const Bf16Pair* base[kBases];
    for (int i = 0; i < kBases; ++i)
        base[i] = rows + 3 * i * rowStep;
    for (int k = 0; k < pairs; ++k) {
        __m512bh columns[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            columns[v] = (__m512bh)_mm512_loadu_si512(panel + v * 16);
        panel += 32;
        ahead.step();
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512bh row =
                (__m512bh)_mm512_set1_epi32(static_cast<int>(base[r / 3][(r % 3) * rowStep]));
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v)
                block.sum[r][v].raw = _mm512_dpbf16_ps(block.sum[r][v].raw, row, columns[v]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kBases; ++i)
            base[i] += depthStep;
    }
}

HWY_INLINE void roundToPairs(const float* row, int width, float factor, Bf16Pair* pairs,
                             size_t pieceStep = kPiecePairs) {
    const Float by = hn::Set(FloatTag(), factor);
    for (int k = 0; k < width; k += 16) {
        const int left = std::min(16, width - k);
        auto* const to = pairs + k / 32 * pieceStep + k % 32 / 2;
        const auto rounded = (__m256i)_mm512_cvtneps_pbh(hn::Mul(loadPart(row + k, left), by).raw);
        if (left == 16) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), rounded);
        } else {
            HWY_ALIGN Bf16Pair lanes[8];
            _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), rounded);
            std::copy_n(lanes, pairsOf(left), to);
        }
    }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

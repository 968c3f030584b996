// Quads of bytes: the loop of their products, and quantisation to quads.
//
// On x86, instructions multiply unsigned bytes by signed bytes. So the bytes of the left operand are stored
// with an offset, which is later removed from the sums. Without VNNI, two products are first added in 16
// bits. These sums do not saturate if the sum of two neighbours of the right operand has at most 128 steps,
// or if the left operand has 7 bits. On Arm, bytes of both operands are signed (dots_neon-inl.h).

#if defined(MPM_KERNELS_QUADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_QUADS_INL_H_
#undef MPM_KERNELS_QUADS_INL_H_
#else
#define MPM_KERNELS_QUADS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "mpm_layer/kernels/common/isa.hpp"
#include "mpm_layer/kernels/product/dots_neon-inl.h"
#include "mpm_layer/kernels/product/i8.hpp"
#include "mpm_layer/kernels/product/microkernel-inl.h"
#include "mpm_layer/kernels/product/pairs-inl.h"

// Like AVX-512 BF16 (pairs-inl.h), VNNI is enabled for all targets whose processors may have VNNI. hasDot()
// checks the processor at run time.
#undef MPM_I8_TARGET
#undef MPM_HAS_VNNI
#undef MPM_BEFORE_NAMESPACE_I8
#if HWY_TARGET <= HWY_AVX3 && MPM_HAS_BF16
#define MPM_HAS_VNNI 1
#define MPM_BEFORE_NAMESPACE_I8() \
    HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16,avx512vnni" MPM_TILES_TARGET)
#elif HWY_TARGET == HWY_AVX2 && defined(__GNUC__) && (__GNUC__ >= 11 || defined(__clang__))
#define MPM_HAS_VNNI 1
#define MPM_BEFORE_NAMESPACE_I8() HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avxvnni")
#else
#define MPM_HAS_VNNI 0
#define MPM_BEFORE_NAMESPACE_I8() HWY_BEFORE_NAMESPACE()
#endif

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

using IntTag = hn::ScalableTag<std::int32_t>;
using Int = hn::Vec<IntTag>;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
// Intel's type for integer vectors has 64-bit lanes. GCC 12 copies sums of this type back and forth around
// each product and runs out of registers. Sums of a type with 32-bit lanes stay in registers.
using Sum = std::int32_t __attribute__((vector_size(sizeof(Int))));

HWY_INLINE Int asInt(Sum sum) {
    return Int{(decltype(Int::raw))sum};
}
HWY_INLINE Sum asSum(Int value) {
    return (Sum)value.raw;
}
#else
using Sum = Int;

HWY_INLINE Int asInt(Sum sum) {
    return sum;
}
HWY_INLINE Sum asSum(Int value) {
    return value;
}
#endif

template <int R, int V = 2>
struct IntBlock {
    HWY_INLINE IntBlock() {}

    HWY_INLINE Int at(int r, int v) const { return asInt(sum[r][v]); }

    Sum sum[R][V];
};

// A Dot class multiplies quads with certain instructions. form() describes the bytes. add() adds the four
// products of each lane to a sum. If kByLane is true, twoQuads() loads two quads of a row into a vector, and
// addLane() multiplies by a single lane of this vector. So a single load replaces two broadcasts.

#if MPM_HAS_VNNI

struct DotVnni {
    static constexpr ByteForm form(Finer) { return {128, 127, 127}; }
    static constexpr bool kByLane = false;

    static HWY_INLINE Int add(Int sum, Int left, Int right) {
#if HWY_TARGET <= HWY_AVX3
        return Int{_mm512_dpbusd_epi32(sum.raw, left.raw, right.raw)};
#else
        return Int{_mm256_dpbusd_avx_epi32(sum.raw, left.raw, right.raw)};
#endif
    }
};

inline bool hasDot() {
#if HWY_TARGET <= HWY_AVX3
    return __builtin_cpu_supports("avx512vnni") && allowsVnni();
#else
    return __builtin_cpu_supports("avxvnni") && allowsVnni();
#endif
}

#else

inline bool hasDot() {
#if HWY_TARGET == HWY_NEON
    return hasSdot() && allowsVnni();
#else
    return false;
#endif
}

#endif

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3

/// Adds two products in 16 bits, then two of these sums in 32 bits. The sum of two products fits: it is at
/// most 254 * 129 or 127 * 127 * 2. (For Finer::Left, two neighbours of the right operand have at most 128
/// steps together; rounded, at most 129.)
struct DotPlain {
    static constexpr ByteForm form(Finer finer) {
        return finer == Finer::Left ? ByteForm{128, 126, 127, 128} : ByteForm{64, 63, 127};
    }
    static constexpr bool kByLane = false;

    static HWY_INLINE Int add(Int sum, Int left, Int right) {
#if HWY_TARGET <= HWY_AVX3
        const __m512i pairs = _mm512_maddubs_epi16(left.raw, right.raw);
        return Int{_mm512_add_epi32(sum.raw, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
#elif HWY_TARGET == HWY_AVX2
        const __m256i pairs = _mm256_maddubs_epi16(left.raw, right.raw);
        return Int{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
#else
        const __m128i pairs = _mm_maddubs_epi16(left.raw, right.raw);
        return Int{_mm_add_epi32(sum.raw, _mm_madd_epi16(pairs, _mm_set1_epi16(1)))};
#endif
    }
};

#elif HWY_TARGET != HWY_NEON  // the classes for Arm are in dots_neon-inl.h

/// Multiplies byte by byte, with instructions that all processors have.
struct DotPlain {
    static constexpr ByteForm form(Finer) { return {0, 127, 127}; }
    static constexpr bool kByLane = false;

    static HWY_INLINE Int add(Int sum, Int left, Int right) {
        sum = hn::Add(sum, hn::Mul(hn::ShiftRight<24>(left), hn::ShiftRight<24>(right)));
        left = hn::ShiftLeft<8>(left), right = hn::ShiftLeft<8>(right);
        sum = hn::Add(sum, hn::Mul(hn::ShiftRight<24>(left), hn::ShiftRight<24>(right)));
        left = hn::ShiftLeft<8>(left), right = hn::ShiftLeft<8>(right);
        sum = hn::Add(sum, hn::Mul(hn::ShiftRight<24>(left), hn::ShiftRight<24>(right)));
        left = hn::ShiftLeft<8>(left), right = hn::ShiftLeft<8>(right);
        return hn::Add(sum, hn::Mul(hn::ShiftRight<24>(left), hn::ShiftRight<24>(right)));
    }
};

#endif

/// Calls run(Dot()) with the best Dot class of this processor. All calls in a process get the same class.
template <class Run>
HWY_INLINE auto withDot(const Run& run) {
#if MPM_HAS_VNNI
    static const bool vnni = hasDot();
    if (vnni) return run(DotVnni());
#elif HWY_TARGET == HWY_NEON
    static const bool sdot = hasDot(), smmla = sdot && hasSmmla();
    if (smmla) return run(DotSmmla());
    if (sdot) return run(DotSdot());
#endif
    return run(DotPlain());
}

/// Adds the products of quads `k` and `k + 1` of each row, with addLane(); `panel` begins at quad `k`.
template <class Dot, int R, int V>
HWY_INLINE void multiplyAddTwoQuads(int k, const I8Quad* const* base, size_t rowStep,
                                    const I8Quad* HWY_RESTRICT panel, IntBlock<R, V>& block) {
    const IntTag d;
    const size_t lanes = hn::Lanes(d);
    Int first[V], second[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        first[v] = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(panel + v * lanes));
        second[v] = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(panel + (2 + v) * lanes));
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const auto row = Dot::twoQuads(base[r / 3] + (r % 3) * rowStep + k);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            const Int sum = Dot::template addLane<0>(block.at(r, v), row, first[v]);
            block.sum[r][v] = asSum(Dot::template addLane<1>(sum, row, second[v]));
        }
    }
}

/// Like multiplyAdd() for f32; `rowStep` is in quads.
template <class Dot, int R, int V, class Ahead = NothingAhead>
HWY_INLINE void multiplyAddQuads(int quads, const I8Quad* HWY_RESTRICT rows, size_t rowStep,
                                 const I8Quad* HWY_RESTRICT panel, IntBlock<R, V>& block, Ahead ahead = {}) {
    const IntTag d;
    const size_t lanes = hn::Lanes(d);
    constexpr int kBases = (R + 2) / 3;
    const I8Quad* base[kBases];
    for (int i = 0; i < kBases; ++i)
        base[i] = rows + 3 * i * rowStep;
    int k = 0;
    if constexpr (Dot::kByLane) {
        for (; k + 4 <= quads; k += 4, panel += 8 * lanes) {
            ahead.step(4);
            multiplyAddTwoQuads<Dot>(k, base, rowStep, panel, block);
            multiplyAddTwoQuads<Dot>(k + 2, base, rowStep, panel + 4 * lanes, block);
        }
        for (; k + 2 <= quads; k += 2, panel += 4 * lanes)
            multiplyAddTwoQuads<Dot>(k, base, rowStep, panel, block);
    }
    for (; k < quads; ++k) {
        Int columns[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            columns[v] = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(panel + v * lanes));
        panel += 2 * lanes;
        ahead.step();
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const Int row = hn::Set(d, static_cast<std::int32_t>(base[r / 3][(r % 3) * rowStep + k]));
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v)
                block.sum[r][v] = asSum(Dot::add(block.at(r, v), row, columns[v]));
        }
    }
}

template <int R, int V>
HWY_INLINE void clearBlock(IntBlock<R, V>& block) {
    const IntTag d;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            block.sum[r][v] = asSum(hn::Zero(d));
    }
}

#if HWY_TARGET == HWY_NEON

/// Multiplies R rows by V vectors of columns of a panel. Stores the sums as [R][panelWidth()].
template <class Dot, int R, int V, class Ahead = NothingAhead>
HWY_INLINE void storeQuadSums(int quads, const I8Quad* HWY_RESTRICT rows, size_t rowStep,
                              const I8Quad* HWY_RESTRICT panel, std::int32_t* HWY_RESTRICT sums,
                              Ahead ahead = {}) {
    if constexpr (Dot::kTwoRows) {
        storeSquares<R, V>(quads, rows, rowStep, panel, sums, ahead);
    } else {
        const IntTag d;
        IntBlock<R, V> block;
        clearBlock(block);
        multiplyAddQuads<Dot>(quads, rows, rowStep, panel, block, ahead);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v)
                hn::StoreU(block.at(r, v), d, sums + r * panelWidth() + v * hn::Lanes(d));
        }
    }
}

#endif

#if MPM_HAS_TILES

/// Returns whether rows of this many quads are multiplied in tiles.
inline bool takesQuadTiles(int quads) {
    static const bool may = hasTiles() && hasDot();
    return may && quads % kTileCells == 0;
}

template <int R>
HWY_INLINE void loadBlock(const std::int32_t* sums, IntBlock<R>& block) {
    const IntTag d;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        block.sum[r][0] = asSum(hn::Load(d, sums + r * panelWidth()));
        block.sum[r][1] = asSum(hn::Load(d, sums + r * panelWidth() + hn::Lanes(d)));
    }
}

#endif

/// Returns half of the largest absolute sum of elements 2k and 2k + 1. All elements must be finite.
HWY_INLINE float halfOfLargestPair(const float* row, int width) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const Float half = hn::Set(d, 0.5f);
    Float peak = hn::Zero(d);
    const auto add = [&](Float v) HWY_ATTR {
        const Float halves = hn::Mul(v, half);
        peak = hn::Max(peak, hn::Abs(hn::Add(halves, hn::Reverse2(d, halves))));
    };
    int k = 0;
    for (; k + lanes <= width; k += lanes)
        add(hn::LoadU(d, row + k));
    if (k < width) add(loadPart(row + k, width - k));
    return hn::GetLane(hn::MaxOfLanes(d, peak));
}

/// The quantisation step `scale`, which is `largest` / `levels`, and the inverse of the step. Both are finite
/// even if `largest` is tiny.
struct Step {
    HWY_INLINE Step(float largest, float levels) {
        constexpr float kMost = 0x1p126f;
        inverse = largest > 0 ? std::min(levels / largest, kMost) : 0.0f;
        scale = largest > 0 ? 1.0f / inverse : 0.0f;
    }

    float inverse, scale;
};

#if HWY_TARGET != HWY_NEON

/// Returns the largest absolute value of a row, or NaN if a value is not finite. Compares the bits of
/// absolute values as integers: a larger value has larger bits, and infinity and NaN have the largest bits.
HWY_INLINE float largestOf(const float* row, int width) {
    constexpr std::int32_t kInfinity = 0x7F800000;
    const FloatTag d;
    const IntTag di;
    const int lanes = static_cast<int>(hn::Lanes(d));
    Int peak = hn::Zero(di);
    int k = 0;
    for (; k + lanes <= width; k += lanes)
        peak = hn::Max(peak, hn::BitCast(di, hn::Abs(hn::LoadU(d, row + k))));
    if (k < width) peak = hn::Max(peak, hn::BitCast(di, hn::Abs(loadPart(row + k, width - k))));
    const auto largest = hn::MaxOfLanes(di, peak);
    return hn::GetLane(largest) < kInfinity ? hn::GetLane(hn::BitCast(d, largest))
                                            : std::numeric_limits<float>::quiet_NaN();
}

/// Quantises the row whose values load(first, count) returns. The byte of a value is
/// (value - zero) * inverse, rounded, plus `offset`. Writes all four bytes of the last quad.
template <class Load>
HWY_INLINE void roundToQuads(const Load& load, int width, float inverse, int offset, I8Quad* quads,
                             float zero) {
    const FloatTag d;
    const IntTag di;
    const hn::Rebind<std::uint8_t, IntTag> d8;
    const Float by = hn::Set(d, inverse), from = hn::Set(d, zero);
    // Adding 1.5 * 2^23 rounds to the nearest whole number (ties to even). The low bits of the sum contain
    // the byte.
    const Float magic = hn::Set(d, 12582912.0f + static_cast<float>(offset));
    const int lanes = static_cast<int>(hn::Lanes(d));
    auto* to = reinterpret_cast<std::uint8_t*>(quads);
    const auto bytes = [&](Float v) HWY_ATTR {
        const auto bits = hn::BitCast(di, hn::MulAdd(hn::Sub(v, from), by, magic));
        return hn::TruncateTo(d8, hn::BitCast(hn::RebindToUnsigned<IntTag>(), bits));
    };
    int k = 0;
    for (; k + lanes <= width; k += lanes)
        hn::StoreU(bytes(load(k, lanes)), d8, to + k);
    if (k == width) return;
    HWY_ALIGN std::uint8_t last[HWY_MAX_BYTES];
    hn::Store(bytes(load(k, width - k)), d8, last);  // missing values have weights of 0
    std::copy_n(last, quadsOf(width - k) * 4, to + k);
}

HWY_INLINE void roundToQuads(const float* row, int width, float inverse, int offset, I8Quad* quads,
                             float zero = 0) {
    const auto load = [row](int k, int count) HWY_ATTR {
        const FloatTag d;
        return count == static_cast<int>(hn::Lanes(d)) ? hn::LoadU(d, row + k) : loadPart(row + k, count);
    };
    roundToQuads(load, width, inverse, offset, quads, zero);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

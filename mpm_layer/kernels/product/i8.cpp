#include "mpm_layer/kernels/product/i8.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/product/i8.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/product/epilogue_rows-inl.h"
#include "mpm_layer/kernels/product/pair_target-inl.h"
#include "mpm_layer/kernels/product/quads-inl.h"

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

bool HasI8() {
    return hasDot();
}

ByteForm FormOf(Finer finer) {
    return withDot([finer](auto dot) HWY_ATTR { return decltype(dot)::form(finer); });
}

/// Quantises a row whose largest absolute value is `largest`. Returns the step. `row`: as in roundToQuads().
template <class Dot, class Row>
HWY_INLINE float quantise(const Row& row, int width, float largest, const float* least, Finer finer,
                          I8Quad* quads) {
    if (!(largest == largest)) {
        std::fill_n(quads, quadsOf(width), 0u);
        return largest;
    }
    const ByteForm form = Dot::form(finer);
    if (!least) {
        const Step step(largest, form.left);
        roundToQuads(row, width, step.inverse, form.offset, quads, 0.0f);
        return step.scale;
    }
    const Step step(largest - *least, 2 * form.left);
    roundToQuads(row, width, step.inverse, form.offset - form.left, quads, *least);
    return step.scale;
}

float PackQuads(const float* row, int width, const float* least, Finer finer, I8Quad* quads) {
    return withDot([&](auto dot) HWY_ATTR {
        return quantise<decltype(dot)>(row, width, largestOf(row, width), least, finer, quads);
    });
}

#if MPM_HAS_TILES

HWY_INLINE __m512 floatsOf(__m512i bf16) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(bf16, 16));
}

/// Like largestOf(), for a row of bf16. Values below `least` count as `least`. Compares bits as integers:
/// among values of the same sign, the value with the larger integer has the larger absolute value.
HWY_INLINE float largestOfPairs(const Bf16Pair* pairs, int width, float least) {
    constexpr int kInfinity = 0x7F80, kSign = 0x8000;
    __m512i high = _mm512_setzero_si512(), low = high;
    for (int k = 0; k < width; k += 32) {
        const auto present = static_cast<__mmask32>((std::uint64_t{1} << std::min(32, width - k)) - 1);
        const __m512i values = _mm512_maskz_loadu_epi16(present, pairs + k / 2);
        high = _mm512_max_epi16(high, values);  // the largest positive value
        low = _mm512_max_epu16(low, values);    // the lowest value, if a value is negative
    }
    const __m512i highs =
        _mm512_max_epi32(_mm512_srai_epi32(high, 16), _mm512_srai_epi32(_mm512_slli_epi32(high, 16), 16));
    const __m512i lows =
        _mm512_max_epi32(_mm512_srli_epi32(low, 16), _mm512_and_si512(low, _mm512_set1_epi32(0xFFFF)));
    const int largest = _mm512_reduce_max_epi32(highs), lowest = _mm512_reduce_max_epi32(lows);
    const int size = lowest >= kSign ? lowest - kSign : 0;
    constexpr float kNotFinite = std::numeric_limits<float>::quiet_NaN();
    if (largest >= kInfinity || size > kInfinity) return kNotFinite;
    const float above = _mm512_cvtss_f32(floatsOf(_mm512_set1_epi32(largest)));
    const float below = std::min(_mm512_cvtss_f32(floatsOf(_mm512_set1_epi32(size))), -least);
    return below < std::numeric_limits<float>::infinity() ? std::max(above, below) : kNotFinite;
}

float PackQuadsOfPairs(const Bf16Pair* pairs, int width, const float* least, Finer finer, I8Quad* quads) {
    const float lowest = least ? *least : -std::numeric_limits<float>::infinity();
    const auto row = [=](int k, int count) HWY_ATTR {
        const auto present = static_cast<__mmask16>((1u << count) - 1);
        const auto* from = reinterpret_cast<const std::uint16_t*>(pairs) + k;
        const __m512i values = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(present, from));
        return Float{_mm512_max_ps(floatsOf(values), _mm512_set1_ps(lowest))};
    };
    return withDot([&](auto dot) HWY_ATTR {
        return quantise<decltype(dot)>(row, width, largestOfPairs(pairs, width, lowest), least, finer, quads);
    });
}

#else  // this function is never called, because ProductI8WritesPairs() returns false

float PackQuadsOfPairs(const Bf16Pair*, int, const float*, Finer, I8Quad*) {
    return 0;
}

#endif

float LargestMagnitude(const float* row, int width) {
    return largestOf(row, width);
}

void InterleaveQuads(const float* const (&rows)[4], int width, float inverse, I8Quad* quads,
                     std::int32_t* sums) {
    const FloatTag d;
    const IntTag di;
    const Float by = hn::Set(d, inverse), magic = hn::Set(d, 12582912.0f);  // as in roundToQuads
    const Int whole = hn::BitCast(di, magic), low = hn::Set(di, 0xFF);
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int k = 0; k < width; k += lanes) {
        const int count = std::min(lanes, width - k);
        const auto steps = [&](int r) HWY_ATTR {
            const Float v = rows[r] ? loadPart(rows[r] + k, count) : hn::Zero(d);
            return hn::BitCast(di, hn::MulAdd(v, by, magic));
        };
        const Int s0 = steps(0), s1 = steps(1), s2 = steps(2), s3 = steps(3);
        const Int sum = hn::Sub(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::ShiftLeft<2>(whole));
        const Int lower = hn::Or(hn::And(s0, low), hn::ShiftLeft<8>(hn::And(s1, low)));
        const Int upper = hn::Or(hn::And(s2, low), hn::ShiftLeft<8>(s3));
        const Int quad = hn::Or(lower, hn::ShiftLeft<16>(upper));
        auto* const to = reinterpret_cast<std::int32_t*>(quads) + k;
        if (count == lanes) {
            hn::StoreU(quad, di, to);
            hn::StoreU(hn::Add(sum, hn::LoadU(di, sums + k)), di, sums + k);
        } else {
            HWY_ALIGN std::int32_t part[2][HWY_MAX_BYTES / sizeof(std::int32_t)];
            hn::Store(quad, di, part[0]);
            hn::Store(sum, di, part[1]);
            std::copy_n(part[0], count, to);
            for (int i = 0; i < count; ++i)
                sums[k + i] += part[1][i];
        }
    }
}

/// A group of rows, and the panel of weights that begins at `column`.
struct GroupI8 {
    const I8Quad* rows;
    size_t rowStride;
    const float* rowScales;
    int row, present, panel, column;
};

#if HWY_TARGET == HWY_NEON

template <class Dot, class Ahead>
HWY_INLINE void multiplyGroup(const GroupI8& group, const PackedWeightsI8& weights, const Ahead& ahead,
                              const Epilogue& epilogue, const FloatTarget& target) {
    const FloatTag d;
    const IntTag di;
    const int quads = quadsOf(weights.depth());
    HWY_ALIGN std::int32_t sums[kGroup * 8];
    if (group.present > kHalfGroup) {
        storeQuadSums<Dot, kGroup, 2>(quads, group.rows, group.rowStride, weights.panel(group.panel), sums,
                                      ahead);
    } else {
        storeQuadSums<Dot, kHalfGroup, 2>(quads, group.rows, group.rowStride, weights.panel(group.panel),
                                          sums, ahead);
    }
    const Float left = hn::LoadU(d, weights.scales() + group.column);
    const Float right = hn::LoadU(d, weights.scales() + group.column + 4);
    const Int leftOffset = hn::LoadU(di, weights.offsets() + group.column);
    const Int rightOffset = hn::LoadU(di, weights.offsets() + group.column + 4);
    const auto read = [&](int r, Float(&row)[2]) HWY_ATTR {
        const Float step = hn::Set(d, group.rowScales[r]);
        const Int first = hn::Add(hn::Load(di, sums + 8 * r), leftOffset);
        const Int second = hn::Add(hn::Load(di, sums + 8 * r + 4), rightOffset);
        row[0] = hn::Mul(hn::ConvertTo(d, first), hn::Mul(step, left));
        row[1] = hn::Mul(hn::ConvertTo(d, second), hn::Mul(step, right));
    };
    finishStored(read, epilogue, group.row, group.present, group.column, weights.columns() - group.column,
                 target);
}

#else

template <int R, int B>
HWY_INLINE void scaleSums(const IntBlock<R>& sums, const float* rowScales, int rows,
                          const PackedWeightsI8& weights, int column, Block<B>& block) {
    const FloatTag d;
    const IntTag di;
    const size_t lanes = hn::Lanes(d);
    const float* scales = weights.scales() + column;
    const std::int32_t* offsets = weights.offsets() + column;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const Float row = hn::Set(d, r < rows ? rowScales[r] : 0.0f);
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
            const Int sum = hn::Add(sums.at(r, v), hn::LoadU(di, offsets + v * lanes));
            block.sum[r][v] = hn::Mul(hn::ConvertTo(d, sum), hn::Mul(row, hn::LoadU(d, scales + v * lanes)));
        }
    }
}

template <class Dot, int R, class Ahead>
HWY_INLINE void multiplyRows(const GroupI8& group, const PackedWeightsI8& weights, const Ahead& ahead,
                             Block<kGroup>& block) {
    IntBlock<R> sums;
    clearBlock(sums);
    multiplyAddQuads<Dot>(quadsOf(weights.depth()), group.rows, group.rowStride, weights.panel(group.panel),
                          sums, ahead);
    scaleSums(sums, group.rowScales, group.present, weights, group.column, block);
}

template <class Dot, class Ahead>
HWY_INLINE void multiplyGroup(const GroupI8& group, const PackedWeightsI8& weights, const Ahead& ahead,
                              const Epilogue& epilogue, const FloatTarget& target) {
    Block<kGroup> block;
    if (group.present > kHalfGroup) {
        multiplyRows<Dot, kGroup>(group, weights, ahead, block);
    } else {
        clearBlock(block);
        multiplyRows<Dot, kHalfGroup>(group, weights, ahead, block);
    }
    target.finish(block, epilogue, group.row, group.present, group.column, weights.columns() - group.column);
}

#endif

template <class Dot>
HWY_NOINLINE void multiplyI8(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
                             const PackedWeightsI8& weights, const Epilogue& epilogue,
                             const FloatTarget& target) {
    const int width = static_cast<int>(panelWidth()), groups = std::max(1, (count + kGroup - 1) / kGroup);
    const int quads = quadsOf(weights.depth());
    const size_t share = static_cast<size_t>(quads) * width / groups;
    for (int column = 0, p = 0; column < weights.columns(); column += width, ++p) {
        const I8Quad* next = weights.panel(p) + static_cast<size_t>(quads) * width;
        for (int row = 0; row < count; row += kGroup, next += share) {
            const PanelAhead ahead(next, share * sizeof(I8Quad), quads);
            const int present = std::min(kGroup, count - row);
            const GroupI8 group{rows + row * rowStride, rowStride, rowScales + row, row, present, p, column};
            multiplyGroup<Dot>(group, weights, ahead, epilogue, target);
        }
    }
}

#if MPM_HAS_TILES

/// Like multiplyI8(), for depths that are a multiple of the depth of a tile. Integer sums are exact, so both
/// functions give the same bits.
template <class Target>
HWY_NOINLINE void multiplyI8Tiles(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
                                  const PackedWeightsI8& weights, const Epilogue& epilogue,
                                  const Target& target) {
    static thread_local Buffer scratch;
    constexpr int kWidth = 2 * kTileCells;
    const int panels = (weights.columns() + kWidth - 1) / kWidth;
    auto* sums = reinterpret_cast<std::int32_t*>(scratch.reserve(tileSums(count)));
    const TileScope tiles;
    finishWrites();
    const auto finish = [&](int p, int row) HWY_ATTR {
        const int column = p * kWidth, left = weights.columns() - column;
        IntBlock<kTileGroup> integers;
        loadBlock(sums + static_cast<size_t>(row) * kWidth, integers);
        Block<kTileGroup> block;
        // For a complete block, passes constants, so that the compiler removes the checks of the sizes.
        if (count - row >= kTileGroup && left >= kWidth) {
            scaleSums(integers, rowScales + row, kTileGroup, weights, column, block);
            target.finish(block, epilogue, row, kTileGroup, column, kWidth);
        } else {
            const int rowsLeft = std::min(kTileGroup, count - row);
            scaleSums(integers, rowScales + row, rowsLeft, weights, column, block);
            target.finish(block, epilogue, row, rowsLeft, column, left);
        }
    };
    multiplyTilePanels<QuadTiles>(count, quadsOf(weights.depth()), rows, rowStride, weights.panel(0), panels,
                                  weights.kept(), sums, finish);
}

#endif

void ProductI8(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
               const PackedWeightsI8& weights, const Epilogue& epilogue, float* output, size_t outputStride) {
#if MPM_HAS_TILES
    if (takesQuadTiles(quadsOf(weights.depth()))) {
        const FloatTarget target{output, outputStride};
        return multiplyI8Tiles(rows, rowStride, rowScales, count, weights, epilogue, target);
    }
#endif
    withDot([&](auto dot) HWY_ATTR {
        multiplyI8<decltype(dot)>(rows, rowStride, rowScales, count, weights, epilogue,
                                  FloatTarget{output, outputStride});
    });
}

bool ProductI8WritesPairs(int depth) {
#if MPM_HAS_TILES
    return takesQuadTiles(quadsOf(depth));
#else
    return depth < 0;
#endif
}

// This function is never called if ProductI8WritesPairs() returns false.
void ProductI8ToPairs([[maybe_unused]] const I8Quad* rows, [[maybe_unused]] size_t rowStride,
                      [[maybe_unused]] const float* rowScales, [[maybe_unused]] int count,
                      [[maybe_unused]] const PackedWeightsI8& weights,
                      [[maybe_unused]] const Epilogue& epilogue, [[maybe_unused]] const PairRows& output) {
#if MPM_HAS_TILES
    multiplyI8Tiles(rows, rowStride, rowScales, count, weights, epilogue, PairTarget{output});
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(HasI8);
HWY_EXPORT(FormOf);
HWY_EXPORT(LargestMagnitude);
HWY_EXPORT(InterleaveQuads);
HWY_EXPORT(PackQuads);
HWY_EXPORT(PackQuadsOfPairs);
HWY_EXPORT(ProductI8);
HWY_EXPORT(ProductI8ToPairs);
HWY_EXPORT(ProductI8WritesPairs);

const ByteForm& formOf(Finer finer) {
    static const ByteForm left = HWY_DYNAMIC_DISPATCH(FormOf)(Finer::Left),
                          right = HWY_DYNAMIC_DISPATCH(FormOf)(Finer::Right);
    return finer == Finer::Left ? left : right;
}

float inverseOf(float largest) {
    return largest > 0 ? std::min(static_cast<float>(formOf(Finer::Right).right) / largest, 0x1p126f) : 0.0f;
}

bool hasI8() {
    static const bool has = HWY_DYNAMIC_DISPATCH(HasI8)();
    return has;
}

float packQuads(const float* row, int width, I8Quad* quads, Finer finer) {
    return HWY_DYNAMIC_DISPATCH(PackQuads)(row, width, nullptr, finer, quads);
}

float packQuadsFrom(float least, const float* row, int width, I8Quad* quads) {
    return HWY_DYNAMIC_DISPATCH(PackQuads)(row, width, &least, Finer::Left, quads);
}

float packQuads(const Bf16Pair* row, int width, I8Quad* quads, Finer finer) {
    return HWY_DYNAMIC_DISPATCH(PackQuadsOfPairs)(row, width, nullptr, finer, quads);
}

float packQuadsFrom(float least, const Bf16Pair* row, int width, I8Quad* quads) {
    return HWY_DYNAMIC_DISPATCH(PackQuadsOfPairs)(row, width, &least, Finer::Left, quads);
}

float largestMagnitude(const float* row, int width) {
    return HWY_DYNAMIC_DISPATCH(LargestMagnitude)(row, width);
}

void interleaveQuads(const float* const (&rows)[4], int width, float largest, I8Quad* quads,
                     std::int32_t* sums) {
    if (!(largest == largest)) return (void)std::fill_n(quads, width, 0u);
    HWY_DYNAMIC_DISPATCH(InterleaveQuads)(rows, width, inverseOf(largest), quads, sums);
}

void productI8(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
               const PackedWeightsI8& weights, const Epilogue& epilogue, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(ProductI8)
    (rows, rowStride, rowScales, count, weights, epilogue, output, outputStride);
}

bool productI8WritesPairs(int depth) {
    return HWY_DYNAMIC_DISPATCH(ProductI8WritesPairs)(depth);
}

void productI8(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
               const PackedWeightsI8& weights, const Epilogue& epilogue, const PairRows& output) {
    HWY_DYNAMIC_DISPATCH(ProductI8ToPairs)(rows, rowStride, rowScales, count, weights, epilogue, output);
}

}  // namespace mpm::kernels
#endif

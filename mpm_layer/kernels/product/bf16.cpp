#include "mpm_layer/kernels/product/bf16.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/product/bf16.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/product/epilogue-inl.h"
#include "mpm_layer/kernels/product/microkernel-inl.h"
#include "mpm_layer/kernels/product/pair_target-inl.h"
#include "mpm_layer/kernels/product/pairs-inl.h"
#include "mpm_layer/kernels/product/tiles-inl.h"

MPM_BEFORE_NAMESPACE_BF16();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

#if MPM_HAS_BF16

bool HasBf16() {
    return hasPairs();
}
bool MultipliesInTiles() {
    return hasTiles();
}

void PackPairs(const float* row, int width, Bf16Pair* pairs, float factor, size_t pieceStep) {
    roundToPairs(row, width, factor, pairs, pieceStep);
}

void InterleaveRows(const float* first, const float* second, int width, Bf16Pair* pairs) {
    for (int k = 0; k < width; k += 16) {
        const int count = std::min(16, width - k);
        const Float low = loadPart(first + k, count);
        const Float high = second ? loadPart(second + k, count) : hn::Zero(FloatTag());
        const __m512i both = pairUp(low.raw, high.raw);
        if (count == 16) {
            _mm512_storeu_si512(pairs + k, both);
        } else {
            HWY_ALIGN Bf16Pair lanes[16];
            _mm512_store_si512(lanes, both);
            std::copy_n(lanes, count, pairs + k);
        }
    }
}

// Like multiplyPanel(), for pairs of bf16. multiplyPanel() itself is compiled without bf16, so it cannot
// inline functions that use bf16. With calls, each step would load and store the sums, which would take twice
// the time.
template <class Target>
HWY_INLINE void multiplyBf16(const Bf16Pair* rows, size_t rowStride, int count,
                             const PackedWeightsBf16& weights, const Epilogue& epilogue,
                             const Target& target) {
    const int width = static_cast<int>(panelWidth()), groups = std::max(1, (count + kGroup - 1) / kGroup);
    const int pairs = pairsOf(weights.depth());
    const size_t share = static_cast<size_t>(pairs) * width / groups;
    for (int column = 0, p = 0; column < weights.columns(); column += width, ++p) {
        const Bf16Pair* own = weights.panel(p);
        const Bf16Pair* next = own + static_cast<size_t>(pairs) * width;
        for (int row = 0; row < count; row += kGroup, next += share) {
            const Bf16Pair* group = rows + row * rowStride;
            const PanelAhead ahead(next, share * sizeof(Bf16Pair), pairs);
            Block<kGroup> block;
            if (count - row > kHalfGroup) {
                clearBlock(block);
                multiplyAddPairs<kGroup>(pairs, group, rowStride, 1, own, block, ahead);
            } else {
                Block<kHalfGroup> half;
                clearBlock(half);
                multiplyAddPairs<kHalfGroup>(pairs, group, rowStride, 1, own, half, ahead);
                widen(half, block);
            }
            target.finish(block, epilogue, row, std::min(kGroup, count - row), column,
                          weights.columns() - column);
        }
    }
}

#if MPM_HAS_TILES

/// Like multiplyBf16(), for depths that are a multiple of the depth of a tile.
template <class Target>
HWY_INLINE void multiplyBf16Tiles(const Bf16Pair* rows, size_t rowStride, int count,
                                  const PackedWeightsBf16& weights, const Epilogue& epilogue,
                                  const Target& target) {
    static thread_local Buffer scratch;
    constexpr int kWidth = 2 * kTileCells;
    const int panels = (weights.columns() + kWidth - 1) / kWidth;
    float* sums = scratch.reserve(tileSums(count));
    const TileScope tiles;
    finishWrites();
    const auto finish = [&](int p, int row) HWY_ATTR {
        Block<kTileGroup> block;
        loadBlock(sums + static_cast<size_t>(row) * kWidth, kWidth, block);
        const int column = p * kWidth, left = weights.columns() - column;
        // For a complete block, passes constants, so that the compiler removes the checks of the sizes.
        if (count - row >= kTileGroup && left >= kWidth)
            target.finish(block, epilogue, row, kTileGroup, column, kWidth);
        else
            target.finish(block, epilogue, row, std::min(kTileGroup, count - row), column, left);
    };
    multiplyTilePanels<PairTiles>(count, pairsOf(weights.depth()), rows, rowStride, weights.panel(0), panels,
                                  weights.kept(), sums, finish);
}

#endif

/// Multiplies in tiles if the processor has tiles and the depth is a multiple of the depth of a tile. The
/// choice depends on the weights only, so that the bits of a row do not depend on the number of rows.
template <class Target>
HWY_INLINE void multiply(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                         const Epilogue& epilogue, const Target& target) {
#if MPM_HAS_TILES
    if (hasTiles() && weights.depth() % (2 * kTileCells) == 0)
        return multiplyBf16Tiles(rows, rowStride, count, weights, epilogue, target);
#endif
    multiplyBf16(rows, rowStride, count, weights, epilogue, target);
}

void ProductBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, float* output, size_t outputStride) {
    multiply(rows, rowStride, count, weights, epilogue, FloatTarget{output, outputStride});
}

void ProductToPairs(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                    const Epilogue& epilogue, const PairRows& output) {
    multiply(rows, rowStride, count, weights, epilogue, PairTarget{output});
}

#else  // packing and products are never called, because HasBf16() is false

bool HasBf16() {
    return false;
}
bool MultipliesInTiles() {
    return false;
}
void PackPairs(const float*, int, Bf16Pair*, float, size_t) {}
void InterleaveRows(const float*, const float*, int, Bf16Pair*) {}
void ProductBf16(const Bf16Pair*, size_t, int, const PackedWeightsBf16&, const Epilogue&, float*, size_t) {}
void ProductToPairs(const Bf16Pair*, size_t, int, const PackedWeightsBf16&, const Epilogue&,
                    const PairRows&) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(HasBf16);
HWY_EXPORT(MultipliesInTiles);
HWY_EXPORT(PackPairs);
HWY_EXPORT(InterleaveRows);
HWY_EXPORT(ProductBf16);
HWY_EXPORT(ProductToPairs);

bool hasBf16() {
    static const bool has = HWY_DYNAMIC_DISPATCH(HasBf16)();
    return has;
}

bool multipliesInTiles() {
    static const bool tiles = HWY_DYNAMIC_DISPATCH(MultipliesInTiles)();
    return tiles;
}

void packPairs(const float* row, int width, Bf16Pair* pairs, float factor, size_t pieceStep) {
    HWY_DYNAMIC_DISPATCH(PackPairs)(row, width, pairs, factor, pieceStep);
}

void interleaveRows(const float* first, const float* second, int width, Bf16Pair* pairs) {
    HWY_DYNAMIC_DISPATCH(InterleaveRows)(first, second, width, pairs);
}

PackedWeightsBf16::PackedWeightsBf16(const float* weights, size_t stride, int depth, int columns) {
    reshape(depth, columns, true);
    const int width = panelColumns(), panels = (columns + width - 1) / width;
    Bf16Pair* to = panel(0);
    for (int p = 0; p < panels; ++p) {
        const int present = std::min(width, columns - p * width);
        for (int k = 0; k < depth; k += 2, to += width) {
            const float* first = weights + k * stride + static_cast<size_t>(p) * width;
            std::fill(to, to + width, 0u);
            interleaveRows(first, k + 1 < depth ? first + stride : nullptr, present, to);
        }
    }
}

void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(ProductBf16)(rows, rowStride, count, weights, epilogue, output, outputStride);
}

void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, const PairRows& output) {
    HWY_DYNAMIC_DISPATCH(ProductToPairs)(rows, rowStride, count, weights, epilogue, output);
}

}  // namespace mpm::kernels
#endif

// The innermost loop of products in f32, compiled for each instruction set.
//
// A block has R rows of two vectors of sums, which stay in registers over the whole depth. Elements of the
// left operand are broadcast from memory. The right operand is in panels of two vectors, [k][2 * lanes]; k
// is the index along the depth. In blocks of any height, every sum is a single chain of fused multiply-adds
// in ascending k. So the bits of a row depend neither on other rows nor on the number of threads.

#if defined(MPM_KERNELS_MICROKERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_MICROKERNEL_INL_H_
#undef MPM_KERNELS_MICROKERNEL_INL_H_
#else
#define MPM_KERNELS_MICROKERNEL_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"
#include "mpm_layer/kernels/common/transpose-inl.h"
#include "mpm_layer/kernels/product/lanes_neon-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The number of rows in a group. Of 32 vector registers, 24 hold the sums of 12 rows; the others are free for
// two vectors of columns and a broadcast element. Of 16 registers, 12 hold the sums of 6 rows.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kGroup = 12;
#else
constexpr int kGroup = 6;
#endif

HWY_INLINE size_t panelWidth() {
    return 2 * hn::Lanes(FloatTag());
}

/// Packs `present` rows of `count` elements as the columns of a panel; missing columns are zero.
template <class T>
HWY_INLINE void packColumns(const T* rows, size_t stride, int present, int count, T* panel) {
    const hn::ScalableTag<T> d;
    const int width = static_cast<int>(panelWidth()), lanes = width / 2;
    for (int first = 0; first < width; first += lanes, rows += lanes * stride, panel += lanes) {
        const int here = std::clamp(present - first, 0, lanes);
        const auto exists = hn::FirstN(d, here);
        int k = here > 0 ? 0 : count;
        for (; k + kSquare <= count; k += kSquare) {
            hn::Vec<decltype(d)> v0, v1, v2, v3;
            loadColumns(d, rows + k, stride, here - 1, v0, v1, v2, v3);
            T* to = panel + static_cast<size_t>(k) * width;
            hn::Store(hn::IfThenElseZero(exists, v0), d, to);
            hn::Store(hn::IfThenElseZero(exists, v1), d, to + width);
            hn::Store(hn::IfThenElseZero(exists, v2), d, to + 2 * width);
            hn::Store(hn::IfThenElseZero(exists, v3), d, to + 3 * width);
        }
        for (k = here > 0 ? k : 0; k < count; ++k) {
            for (int q = 0; q < lanes; ++q)
                panel[static_cast<size_t>(k) * width + q] = q < here ? rows[q * stride + k] : T(0);
        }
    }
}

/// The sums of R rows and V vectors of columns. V is 2 for both vectors of a panel, 1 for only the first.
template <int R, int V = 2>
struct Block {
    // Not implicit, because GCC would compile an implicit constructor without this target's instruction set.
    // Then GCC could not inline functions that use vectors.
    HWY_INLINE Block() {}

    Float sum[R][V];
};

struct NothingAhead {
    HWY_INLINE void step(int = 1) const {}
};

/// Prefetches the next panel of weights, a piece in each step, while the current panel is in use. Without
/// this prefetch, the first row group of a panel would wait for the memory of the whole panel.
struct PanelAhead {
    HWY_INLINE PanelAhead(const void* next, size_t bytes, int steps)
        : at(static_cast<const char*>(next)), piece(bytes / steps) {}

    HWY_INLINE void step(int pieces = 1) {
        __builtin_prefetch(at, 0, 2);
        at += pieces * piece;
    }

    const char* at;
    size_t piece;
};

/// Adds rows * panel to a block. Element (r, k) of the left operand is rows[r * rowStep + k * depthStep].
/// `ahead` prefetches a piece in each step.
template <int R, int V, class Ahead = NothingAhead>
HWY_INLINE void multiplyAddSteps(int depth, const float* HWY_RESTRICT rows, size_t rowStep, size_t depthStep,
                                 const float* HWY_RESTRICT panel, Block<R, V>& block, Ahead ahead = {}) {
    const FloatTag d;
    const size_t lanes = hn::Lanes(d);
    // x86 can address base + {0, 1, 2} * step without another register, so three rows share a base pointer.
    constexpr int kBases = (R + 2) / 3;
    const float* base[kBases];
    for (int i = 0; i < kBases; ++i)
        base[i] = rows + 3 * i * rowStep;
    for (int k = 0; k < depth; ++k) {
        Float columns[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            columns[v] = hn::Load(d, panel + v * lanes);
        panel += 2 * lanes;
        ahead.step();
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const Float row = hn::Set(d, base[r / 3][(r % 3) * rowStep]);
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v)
                block.sum[r][v] = hn::MulAdd(row, columns[v], block.sum[r][v]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kBases; ++i)
            base[i] += depthStep;
    }
}

/// Adds rows * panel to a block. Element (r, k) of the left operand is rows[r * rowStep + k].
template <int R, int V, class Ahead = NothingAhead>
HWY_INLINE void multiplyAdd(int depth, const float* HWY_RESTRICT rows, size_t rowStep,
                            const float* HWY_RESTRICT panel, Block<R, V>& block, Ahead ahead = {}) {
#if HWY_TARGET == HWY_NEON
    const int done = addDepthsByLane(depth, rows, rowStep, panel, block.sum, ahead);
    depth -= done, rows += done, panel += done * panelWidth();
#endif
    multiplyAddSteps(depth, rows, rowStep, 1, panel, block, ahead);
}

/// Adds rows * panel to a block, with a transposed left operand: element (r, k) is rows[r + k * depthStep].
template <int R, int V>
HWY_INLINE void multiplyAddBeside(int depth, const float* HWY_RESTRICT rows, size_t depthStep,
                                  const float* HWY_RESTRICT panel, Block<R, V>& block) {
#if HWY_TARGET == HWY_NEON
    if constexpr (R % 4 == 0) return addRowsByLane(depth, rows, depthStep, panel, block.sum);
#endif
    multiplyAddSteps(depth, rows, 1, depthStep, panel, block);
}

template <int R, int V>
HWY_INLINE void loadBlock(const float* HWY_RESTRICT from, size_t stride, Block<R, V>& block) {
    const FloatTag d;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            block.sum[r][v] = hn::LoadU(d, from + r * stride + v * hn::Lanes(d));
    }
}

template <int R, int V>
HWY_INLINE void storeBlock(const Block<R, V>& block, float* HWY_RESTRICT to, size_t stride) {
    const FloatTag d;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            hn::StoreU(block.sum[r][v], d, to + r * stride + v * hn::Lanes(d));
    }
}

template <int R, int V>
HWY_INLINE void clearBlock(Block<R, V>& block) {
    const FloatTag d;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            block.sum[r][v] = hn::Zero(d);
    }
}

// If the remaining rows fit in half of a group, only the products of this half are computed.
constexpr int kHalfGroup = kGroup / 2;

HWY_INLINE void widen(const Block<kHalfGroup>& half, Block<kGroup>& block) {
    clearBlock(block);
#pragma GCC unroll 16
    for (int r = 0; r < kHalfGroup; ++r) {
        block.sum[r][0] = half.sum[r][0];
        block.sum[r][1] = half.sum[r][1];
    }
}

/// Multiplies all rows by a panel. Calls done(row, block) with the finished block of each row group, in
/// ascending order. Rows must be readable up to the end of the last group.
///
/// The depth is not divided into passes: even if a panel exceeds the level-1 cache, reading it from the
/// level-2 cache costs less than storing sums and loading them again.
template <class Done>
HWY_INLINE void multiplyPanel(int count, int depth, const float* HWY_RESTRICT rows, size_t rowStep,
                              const float* HWY_RESTRICT panel, const Done& done) {
    const int groups = std::max(1, (count + kGroup - 1) / kGroup);
    const size_t share = depth * panelWidth() / groups;
    const float* next = panel + depth * panelWidth();
    for (int row = 0; row < count; row += kGroup, next += share) {
        const float* group = rows + row * rowStep;
        const PanelAhead ahead(next, share * sizeof(float), depth);
        Block<kGroup> block;
        if (count - row > kHalfGroup) {
            clearBlock(block);
            multiplyAdd<kGroup>(depth, group, rowStep, panel, block, ahead);
        } else {
            Block<kHalfGroup> half;
            clearBlock(half);
            multiplyAdd<kHalfGroup>(depth, group, rowStep, panel, half, ahead);
            widen(half, block);
        }
        done(row, block);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

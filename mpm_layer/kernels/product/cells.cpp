#include "mpm_layer/kernels/product/cells.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/product/cells.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

using CellTag = hn::RebindToUnsigned<FloatTag>;

/// Gathers a vector of columns for all rows of a panel; load(cells) returns the vector of a row.
template <class Load>
HWY_INLINE void gatherVector(const CellGrid& grid, const Load& load, Cell* HWY_RESTRICT to) {
    const CellTag d;
    const size_t width = 2 * hn::Lanes(d);
    for (int plane = 0; plane < grid.planes; ++plane) {
        const Cell* const cells = grid.cells + plane * grid.stride;
        for (int tap = 0; tap < grid.count; ++tap, to += width)
            hn::StoreU(load(cells + grid.taps[tap]), d, to);
    }
}

void GatherPanel(const CellGrid& grid, const std::vector<CellRun> (&runs)[2], void* panel) {
    const CellTag d;
    for (int v = 0; v < 2; ++v) {
        const CellRun* const first = runs[v].data();
        const CellRun* const end = first + runs[v].size();
        Cell* const to = static_cast<Cell*>(panel) + v * hn::Lanes(d);
        if (runs[v].size() == 1) {
            gatherVector(
                grid, [&](const Cell* at) HWY_ATTR { return hn::LoadU(d, at + first->offset); }, to);
        } else {
            gatherVector(
                grid,
                [&](const Cell* at) HWY_ATTR {
                    auto cells = hn::LoadU(d, at + first->offset);
                    for (const CellRun* run = first + 1; run < end; ++run)
                        cells =
                            hn::IfThenElse(hn::FirstN(d, run->lane), cells, hn::LoadU(d, at + run->offset));
                    return cells;
                },
                to);
        }
    }
}

void SumTaps(const CellGrid& grid, const float* weights, float start, int width, float* to) {
    constexpr int kAbreast = 4;  // vectors of sums that are computed together, so that latencies overlap
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int x = 0; x < width; x += kAbreast * lanes) {
        Float sums[kAbreast];
        std::fill_n(sums, kAbreast, hn::Set(d, start));
        const float* weight = weights;
        for (int plane = 0; plane < grid.planes; ++plane) {
            const auto* cells = reinterpret_cast<const float*>(grid.cells + plane * grid.stride) + x;
            for (int tap = 0; tap < grid.count; ++tap, ++weight) {
                const Float by = hn::Set(d, *weight);
#pragma GCC unroll 4
                for (int v = 0; v < kAbreast; ++v)
                    sums[v] = hn::MulAdd(by, hn::LoadU(d, cells + grid.taps[tap] + v * lanes), sums[v]);
            }
        }
        for (int v = 0; v < kAbreast && x + v * lanes < width; ++v)
            storePart(sums[v], to + x + v * lanes, std::min(lanes, width - x - v * lanes));
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(GatherPanel);
HWY_EXPORT(SumTaps);

void gatherPanel(const CellGrid& grid, const std::vector<CellRun> (&runs)[2], void* panel) {
    HWY_DYNAMIC_DISPATCH(GatherPanel)(grid, runs, panel);
}

void sumTaps(const CellGrid& grid, const float* weights, float start, int width, float* to) {
    HWY_DYNAMIC_DISPATCH(SumTaps)(grid, weights, start, width, to);
}

}  // namespace mpm::kernels
#endif

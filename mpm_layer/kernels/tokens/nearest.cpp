#include "mpm_layer/kernels/tokens/nearest.hpp"

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/product/product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/nearest.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/product/microkernel-inl.h"
#include "mpm_layer/kernels/tokens/leads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// The best value of each lane so far, and its column. If values are equal, keeps the earliest.
struct RunningBest {
    Float value;
    Index index;

    HWY_INLINE RunningBest(const float* values, const int* indices)
        : value(hn::Load(FloatTag(), values)), index(hn::Load(IndexTag(), indices)) {}

    HWY_INLINE void keep(Float candidate, Index its) {
        const auto larger = hn::Gt(candidate, value);
        value = hn::IfThenElse(larger, candidate, value);
        index = hn::IfThenElse(hn::RebindMask(IndexTag(), larger), its, index);
    }

    HWY_INLINE void store(float* values, int* indices) const {
        hn::Store(value, FloatTag(), values);
        hn::Store(index, IndexTag(), indices);
    }
};

HWY_INLINE void keepInRow(Float left, Float right, const Columns& columns, float* rowValue, int* rowIndex) {
    const auto fromRight = hn::Gt(right, left);
    RunningBest row(rowValue, rowIndex);
    row.keep(hn::IfThenElse(fromRight, right, left),
             hn::IfThenElse(hn::RebindMask(IndexTag(), fromRight), columns.right, columns.left));
    row.store(rowValue, rowIndex);
}

void PackPanel(const float* rows, size_t stride, int present, int width, float* panel) {
    packColumns(rows, stride, present, width, panel);
}

HWY_INLINE void keepBetter(float value, int index, Best& best, int at) {
    if (value > best.value[at] || (value == best.value[at] && index < best.index[at])) {
        best.value[at] = value;
        best.index[at] = index;
    }
}

// The temporary memory has the best value of each row and lane, then the columns of these values.
void NearestColumns(const float* rows, size_t stride, int first, int count, const SimilarColumns& columns,
                    Best& best) {
    static thread_local Buffer scratch;
    const int width = static_cast<int>(panelWidth()), lanes = width / 2;
    const size_t cells = static_cast<size_t>(count) * lanes;
    float* values = scratch.reserve(2 * cells);
    int* indices = reinterpret_cast<int*>(values + cells);
    std::fill(values, values + cells, kNever);
    for (int column = 0; column < columns.count; column += width) {
        const Columns own(column, columns.count);
        multiplyPanel(count, columns.width, rows + first * stride, stride,
                      columns.panels + static_cast<size_t>(column) * columns.width,
                      [&](int group, const Block<kGroup>& block) HWY_ATTR {
#pragma GCC unroll 16
                          for (int r = 0; r < kGroup; ++r) {
                              const int row = group + r;
                              if (row >= count) break;
                              keepInRow(between(block.sum[r][0], own.left, -1, own.limit),
                                        between(block.sum[r][1], own.right, -1, own.limit), own,
                                        values + row * lanes, indices + row * lanes);
                          }
                      });
    }
    for (size_t at = 0; at < cells; ++at) {
        if (values[at] != kNever)
            keepBetter(values[at], indices[at], best, first + static_cast<int>(at) / lanes);
    }
}

// The matrix of products is symmetric, so each column is compared with earlier rows only. A product may be
// the best so far of the row and of the column, so it updates the leads (leads.hpp) of both.
void LeadsAmong(const float* rows, size_t stride, const SimilarColumns& columns, Leads& leads) {
    static thread_local Buffer scratch;
    const int width = static_cast<int>(panelWidth()), lanes = width / 2;
    const size_t cells = static_cast<size_t>(columns.count) * lanes;
    float* rowLeads = scratch.reserve(3 * cells);
    forget(rowLeads, cells);
    for (int column = 0; column < columns.count; column += width) {
        const Columns own(column, columns.count);
        const int count = std::min(columns.count, column + width);
        LaneLeads left, right;
        multiplyPanel(count, columns.width, rows, stride,
                      columns.panels + static_cast<size_t>(column) * columns.width,
                      [&](int group, const Block<kGroup>& block) HWY_ATTR {
                          const bool masked = !own.whole || group + kGroup > column;
#pragma GCC unroll 16
                          for (int r = 0; r < kGroup; ++r) {
                              const int row = group + r;
                              if (row >= count) break;
                              Float first = block.sum[r][0], second = block.sum[r][1];
                              if (masked) {
                                  first = between(first, own.left, row, own.limit);
                                  second = between(second, own.right, row, own.limit);
                              }
                              const Index where = hn::Set(IndexTag(), row);
                              left.keep(first, where);
                              right.keep(second, where);
                              float* const to = rowLeads + static_cast<size_t>(row) * lanes;
                              LaneLeads ofRow(to, cells);
                              ofRow.keepBoth(first, second, own);
                              ofRow.store(to, cells);
                          }
                      });
        left.keepIn(leads, column);
        right.keepIn(leads, column + lanes);
    }
    keepRows(rowLeads, columns.count, cells, leads, 0);
}

// Two chains of sums hide half the latency of a multiply-add. With more chains, AVX2 would run out of
// registers, because the last elements need a mask.
HWY_INLINE float dot(const float* a, const float* b, int width) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    Float even = hn::Zero(d), odd = hn::Zero(d);
    int i = 0;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
        even = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), even);
        odd = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), odd);
    }
    for (; i < width; i += lanes) {
        const int count = std::min(lanes, width - i);
        even = hn::MulAdd(loadPart(a + i, count), loadPart(b + i, count), even);
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

int NearestCandidate(const float* row, const float* rows, size_t stride, const int* candidates, int count,
                     int width, float& value) {
    int best = -1;
    value = -std::numeric_limits<float>::infinity();
    for (int c = 0; c < count; ++c) {
        const float product = dot(row, rows + candidates[c] * stride, width);
        if (product > value) value = product, best = candidates[c];
    }
    return best;
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(PackPanel);
HWY_EXPORT(NearestColumns);
HWY_EXPORT(LeadsAmong);
HWY_EXPORT(NearestCandidate);

void packPanel(const float* rows, size_t stride, int present, int width, int index, float* panels) {
    const size_t size = static_cast<size_t>(panelColumns()) * width;
    HWY_DYNAMIC_DISPATCH(PackPanel)(rows, stride, present, width, panels + index * size);
}

size_t panelsSize(int count, int width) {
    const int columns = panelColumns();
    return static_cast<size_t>((count + columns - 1) / columns) * columns * width;
}

Best::Best(int count)
    : value(count, -std::numeric_limits<float>::infinity()), index(count, std::numeric_limits<int>::max()) {}

void nearestColumns(const float* rows, size_t stride, int first, int count, const SimilarColumns& columns,
                    Best& best) {
    HWY_DYNAMIC_DISPATCH(NearestColumns)(rows, stride, first, count, columns, best);
}

void leadsAmong(const float* rows, size_t stride, const SimilarColumns& columns, Leads& leads) {
    HWY_DYNAMIC_DISPATCH(LeadsAmong)(rows, stride, columns, leads);
}

int nearestCandidate(const float* row, const float* rows, size_t stride, const int* candidates, int count,
                     int width, float& value) {
    return HWY_DYNAMIC_DISPATCH(NearestCandidate)(row, rows, stride, candidates, count, width, value);
}

}  // namespace mpm::kernels
#endif

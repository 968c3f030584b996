#include "mpm_layer/kernels/tokens/nearest.hpp"

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/product/product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/nearest.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/product/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

using IndexTag = hn::RebindToSigned<FloatTag>;
using Index = hn::Vec<IndexTag>;

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Running bests of a chunk: of its rows lane by lane, of its columns across the rows.
struct ChunkBest {
    float* rowValue;  // [rows][lanes]
    int* rowIndex;
    float* columnValue;  // [panel width], of the current panel
    int* columnIndex;
};

/// The best so far, lane by lane: the first of equal ones stays.
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

/// Columns of two vectors, of which those below `limit` exist.
struct Columns {
    Index left, right;
    bool whole;
    int first, limit;

    HWY_INLINE Columns(int first, int limit) : first(first), limit(limit) {
        const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
        left = hn::Iota(IndexTag(), first);
        right = hn::Iota(IndexTag(), first + lanes);
        whole = first + 2 * lanes <= limit;
    }
};

/// Values beyond column `last` and below the limit; the others become too small to win.
HWY_INLINE Float between(Float v, Index column, int last, int limit) {
    const FloatTag d;
    const IndexTag di;
    const auto counts = hn::And(hn::Gt(column, hn::Set(di, last)), hn::Lt(column, hn::Set(di, limit)));
    return hn::IfThenElse(hn::RebindMask(d, counts), v, hn::Set(d, kNever));
}

HWY_INLINE void keepInRow(Float left, Float right, const Columns& columns, float* rowValue, int* rowIndex) {
    const auto fromRight = hn::Gt(right, left);
    RunningBest row(rowValue, rowIndex);
    row.keep(hn::IfThenElse(fromRight, right, left),
             hn::IfThenElse(hn::RebindMask(IndexTag(), fromRight), columns.right, columns.left));
    row.store(rowValue, rowIndex);
}

/// A block whose first row is row `first` of the matrix, `rows` of them existing. Only pairs above the
/// diagonal count. The columns' bests stay in registers over the rows: through memory each row would wait for
/// the one before.
HWY_INLINE void update(const Block<kGroup>& block, int first, int rows, const Columns& columns,
                       const ChunkBest& best, float* rowValue, int* rowIndex) {
    const size_t lanes = hn::Lanes(FloatTag());
    const bool masked = !columns.whole || columns.first < first + kGroup;
    RunningBest leftBest(best.columnValue, best.columnIndex);
    RunningBest rightBest(best.columnValue + lanes, best.columnIndex + lanes);
#pragma GCC unroll 16
    for (int r = 0; r < kGroup; ++r) {
        if (r >= rows) break;
        Float left = block.sum[r][0], right = block.sum[r][1];
        if (masked) {
            left = between(left, columns.left, first + r, columns.limit);
            right = between(right, columns.right, first + r, columns.limit);
        }
        const Index row = hn::Set(IndexTag(), first + r);
        leftBest.keep(left, row);
        rightBest.keep(right, row);
        keepInRow(left, right, columns, rowValue + r * lanes, rowIndex + r * lanes);
    }
    leftBest.store(best.columnValue, best.columnIndex);
    rightBest.store(best.columnValue + lanes, best.columnIndex + lanes);
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

// `scratch` has ChunkBest's four parts, in order.
void NearestChunk(const SimilarityOperands& o, int first, int rows, Best& best) {
    static thread_local Buffer scratch;
    const int width = static_cast<int>(panelWidth()), lanes = width / 2;
    const size_t rowCells = static_cast<size_t>(rows) * lanes;
    float* memory = scratch.reserve(2 * rowCells + 2 * width);
    const ChunkBest chunk{memory, reinterpret_cast<int*>(memory + rowCells), memory + 2 * rowCells,
                          reinterpret_cast<int*>(memory + 2 * rowCells + width)};
    std::fill(chunk.rowValue, chunk.rowValue + rowCells, kNever);
    for (int column = first / width * width; column < o.count; column += width) {
        std::fill(chunk.columnValue, chunk.columnValue + width, kNever);
        const int useful = std::min(rows, column + width - first);
        const Columns columns(column, o.count);
        multiplyPanel(useful, o.width, o.rows + first * o.stride, o.stride,
                      o.panels + static_cast<size_t>(column) * o.width,
                      [&](int row, const Block<kGroup>& block) HWY_ATTR {
                          update(block, first + row, std::min(kGroup, rows - row), columns, chunk,
                                 chunk.rowValue + row * lanes, chunk.rowIndex + row * lanes);
                      });
        for (int c = 0; c < width && column + c < o.count; ++c) {
            if (chunk.columnValue[c] != kNever)
                keepBetter(chunk.columnValue[c], chunk.columnIndex[c], best, column + c);
        }
    }
    for (int row = 0; row < rows; ++row) {
        for (int l = 0; l < lanes; ++l) {
            const int at = row * lanes + l;
            if (chunk.rowValue[at] != kNever)
                keepBetter(chunk.rowValue[at], chunk.rowIndex[at], best, first + row);
        }
    }
}

// Scratch: best values of each row lane by lane, their columns.
void NearestColumns(const float* rows, size_t stride, int first, int count, const SimilarityOperands& columns,
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

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(PackPanel);
HWY_EXPORT(NearestChunk);
HWY_EXPORT(NearestColumns);

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

void Best::merge(const Best& other) {
    for (size_t i = 0; i < value.size(); ++i) {
        const bool better = other.value[i] > value[i];
        if (better || (other.value[i] == value[i] && other.index[i] < index[i])) {
            value[i] = other.value[i];
            index[i] = other.index[i];
        }
    }
}

void nearestChunk(const SimilarityOperands& operands, int first, int rows, Best& best) {
    HWY_DYNAMIC_DISPATCH(NearestChunk)(operands, first, rows, best);
}

void nearestColumns(const float* rows, size_t stride, int first, int count, const SimilarityOperands& columns,
                    Best& best) {
    HWY_DYNAMIC_DISPATCH(NearestColumns)(rows, stride, first, count, columns, best);
}

}  // namespace mpm::kernels
#endif

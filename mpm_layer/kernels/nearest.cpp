#include "mpm_layer/kernels/nearest.hpp"

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/nearest.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/microkernel-inl.h"

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
    float* columnValue;  // [panel width], of the panel at hand
    int* columnIndex;
};

HWY_INLINE void keepLarger(Float value, Index index, float* bestValue, int* bestIndex) {
    const FloatTag d;
    const IndexTag di;
    const Float old = hn::Load(d, bestValue);
    const auto larger = hn::Gt(value, old);
    hn::Store(hn::IfThenElse(larger, value, old), d, bestValue);
    hn::Store(hn::IfThenElse(hn::RebindMask(di, larger), index, hn::Load(di, bestIndex)), di, bestIndex);
}

// Row `row` of the matrix against columns column..column+width; `limit` columns exist. Only pairs above the
// diagonal count.
HWY_INLINE void update(Float left, Float right, int row, int column, int limit, const ChunkBest& best,
                       float* rowValue, int* rowIndex) {
    const FloatTag d;
    const IndexTag di;
    const size_t lanes = hn::Lanes(d);
    const Index leftColumn = hn::Iota(di, column);
    const Index rightColumn = hn::Iota(di, column + static_cast<int>(lanes));
    if (column <= row || column + 2 * static_cast<int>(lanes) > limit) {
        const Index own = hn::Set(di, row), end = hn::Set(di, limit);
        const Float never = hn::Set(d, kNever);
        const auto counts = [&](Index c) {
            return hn::RebindMask(d, hn::And(hn::Gt(c, own), hn::Lt(c, end)));
        };
        left = hn::IfThenElse(counts(leftColumn), left, never);
        right = hn::IfThenElse(counts(rightColumn), right, never);
    }
    const Index rows = hn::Set(di, row);
    keepLarger(left, rows, best.columnValue, best.columnIndex);
    keepLarger(right, rows, best.columnValue + lanes, best.columnIndex + lanes);
    const auto fromRight = hn::Gt(right, left);
    keepLarger(hn::IfThenElse(fromRight, right, left),
               hn::IfThenElse(hn::RebindMask(di, fromRight), rightColumn, leftColumn), rowValue, rowIndex);
}

HWY_INLINE void keepBetter(float value, int index, Best& best, int at) {
    if (value > best.value[at] || (value == best.value[at] && index < best.index[at])) {
        best.value[at] = value;
        best.index[at] = index;
    }
}

// `scratch` starts as ChunkBest's four parts, in order, then the partial sums of multiplyPanel.
void NearestChunk(const SimilarityOperands& o, int first, int rows, Best& best) {
    static thread_local Buffer scratch;
    const int width = static_cast<int>(panelWidth()), lanes = width / 2;
    const int groups = (rows + kGroup - 1) / kGroup;
    const size_t rowCells = static_cast<size_t>(rows) * lanes;
    float* memory = scratch.reserve(2 * rowCells + 2 * width + static_cast<size_t>(groups) * kGroup * width);
    const ChunkBest chunk{memory, reinterpret_cast<int*>(memory + rowCells), memory + 2 * rowCells,
                          reinterpret_cast<int*>(memory + 2 * rowCells + width)};
    float* partial = memory + 2 * rowCells + 2 * width;
    std::fill(chunk.rowValue, chunk.rowValue + rowCells, kNever);
    for (int column = first / width * width; column < o.count; column += width) {
        std::fill(chunk.columnValue, chunk.columnValue + width, kNever);
        const int useful = std::min(groups, (column + width - first + kGroup - 1) / kGroup);
        multiplyPanel(useful, o.width, o.rows + first * o.stride, o.stride,
                      o.panels + static_cast<size_t>(column) * o.width, partial,
                      [&](int g, const Block<kGroup>& block) HWY_ATTR {
#pragma GCC unroll 16
                          for (int r = 0; r < kGroup; ++r) {
                              const int row = g * kGroup + r;
                              if (row >= rows) break;
                              update(block.sum[r][0], block.sum[r][1], first + row, column, o.count, chunk,
                                     chunk.rowValue + row * lanes, chunk.rowIndex + row * lanes);
                          }
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

// Scratch: best values of each row lane by lane, their columns, partial sums.
void NearestColumns(const float* rows, size_t stride, int first, int count, const SimilarityOperands& columns,
                    Best& best) {
    static thread_local Buffer scratch;
    const FloatTag d;
    const IndexTag di;
    const int width = static_cast<int>(panelWidth()), lanes = width / 2;
    const int groups = (count + kGroup - 1) / kGroup;
    const size_t cells = static_cast<size_t>(count) * lanes;
    float* values = scratch.reserve(2 * cells + static_cast<size_t>(groups) * kGroup * width);
    int* indices = reinterpret_cast<int*>(values + cells);
    std::fill(values, values + cells, kNever);
    for (int column = 0; column < columns.count; column += width) {
        const Index end = hn::Set(di, columns.count);
        const Index leftColumn = hn::Iota(di, column), rightColumn = hn::Iota(di, column + lanes);
        const auto existing = [&](Float v, Index c) HWY_ATTR {
            return hn::IfThenElse(hn::RebindMask(d, hn::Lt(c, end)), v, hn::Set(d, kNever));
        };
        multiplyPanel(groups, columns.width, rows + first * stride, stride,
                      columns.panels + static_cast<size_t>(column) * columns.width, values + 2 * cells,
                      [&](int g, const Block<kGroup>& block) HWY_ATTR {
#pragma GCC unroll 16
                          for (int r = 0; r < kGroup; ++r) {
                              const int row = g * kGroup + r;
                              if (row >= count) break;
                              const Float left = existing(block.sum[r][0], leftColumn);
                              const Float right = existing(block.sum[r][1], rightColumn);
                              const auto fromRight = hn::Gt(right, left);
                              keepLarger(
                                  hn::IfThenElse(fromRight, right, left),
                                  hn::IfThenElse(hn::RebindMask(di, fromRight), rightColumn, leftColumn),
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

HWY_EXPORT(NearestChunk);
HWY_EXPORT(NearestColumns);

void packColumn(const float* row, int width, int index, float* panels) {
    const int columns = panelColumns();
    float* to = panels + static_cast<size_t>(index / columns) * columns * width + index % columns;
    for (int k = 0; k < width; ++k)
        to[static_cast<size_t>(k) * columns] = row[k];
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

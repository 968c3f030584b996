// The product of constant rows with computed columns, in the precision of the rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/checked.hpp"
#include "mpm_layer/cpu/linear.hpp"

namespace mpm::cpu {

/// A right operand: [depth, columns], with rows `stride` floats apart.
struct ColumnOperand {
    const float* values;
    size_t stride;
    int depth, columns;
};

/// A piece of the result, from row `row` and column `column` on. The piece is stored without gaps.
struct ProductPiece {
    int row, rows, column, columns;
};

/// Returns the largest number of columns of a tile, and thus of a piece. A tile is narrow, so that the packed
/// tile remains in the cache while all rows of the left operand are multiplied with the tile.
inline int tileColumns() {
    return 4 * kernels::panelColumns();
}

/// Quantises `columns` columns of `right`, from column `first` on, to bytes. The columns have a common scale,
/// which follows from their largest absolute value.
inline void packColumns(const ColumnOperand& right, int first, int columns,
                        kernels::PackedWeightsI8& packed) {
    const int width = kernels::panelColumns();
    packed.reshape(right.depth, columns);
    const auto row = [&](int k) { return right.values + k * right.stride + first; };
    float largest = 0;
    for (int k = 0; k < right.depth && !std::isnan(largest); ++k) {
        const float here = kernels::largestMagnitude(row(k), columns);
        if (!(here <= largest)) largest = here;
    }
    std::vector<std::int32_t> sums(columns, 0);
    for (int n = 0; n < columns; n += width) {
        for (int k = 0; k < right.depth; k += 4) {
            const float* rows[4] = {};
            for (int i = 0; i < 4 && k + i < right.depth; ++i)
                rows[i] = row(k + i) + n;
            kernels::interleaveQuads(rows, std::min(width, columns - n), largest,
                                     packed.panel(n / width) + static_cast<size_t>(k / 4) * width,
                                     sums.data() + n);
        }
    }
    packed.setColumns(0, columns, largest, sums.data());
}

/// Multiplies a tile of `right`, which begins at column `first`, with all rows of `left`. Calls use(piece,
/// products) for each piece of the result. Each piece except the last has a multiple of `unit` rows.
template <class Use>
void multiplyTile(const LeftRows& left, const ColumnOperand& right, int first, int unit, const Use& use) {
    constexpr int kTileRows = 32;  // products read whole groups and whole tiles of rows
    const int columns = std::min(tileColumns(), right.columns - first);
    const std::int64_t whole = std::lcm<std::int64_t>(unit, std::lcm(kTileRows, kernels::rowGroup()));
    const int step = static_cast<int>(std::min<std::int64_t>(whole, left.count()));
    RightColumns packed;
    if (left.precision() == Precision::I8) {
        packColumns(right, first, columns, packed.quads);
    } else if (left.precision() == Precision::BF16) {
        packed.pairs = kernels::PackedWeightsBf16(right.values + first, right.stride, right.depth, columns);
    } else {
        packed.floats = kernels::PackedWeights(right.values + first, right.stride, right.depth, columns);
    }
    kernels::Buffer products(checkedProduct<size_t>(step, columns));
    for (int row = 0; row < left.count(); row += step) {
        const int rows = std::min(step, left.count() - row);
        packed.multiply(left, row, rows, {}, products.data(), columns);
        use(ProductPiece{row, rows, first, columns}, products.data());
    }
}

}  // namespace mpm::cpu

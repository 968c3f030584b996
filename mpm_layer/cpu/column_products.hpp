// The product of rows that stay the same with columns that are computed, in the precision of the rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/checked.hpp"
#include "mpm_layer/cpu/linear.hpp"

namespace mpm::cpu {

/// A right operand: [depth, columns], with rows `stride` floats apart.
struct ColumnOperand {
    const float* values;
    size_t stride;
    int depth, columns;
};

/// The rows and columns of a piece of the result; the piece's rows are `columns` floats apart.
struct ProductPiece {
    int row, rows, column, columns;
};

/// The largest number of columns of a piece. A tile of columns is packed once and stays in the nearest cache
/// while all rows pass by it.
inline int tileColumns() {
    return 4 * kernels::panelColumns();
}

/// Multiplies columns first.. of `right` with all rows of `left`; use(piece, products) for pieces of a whole
/// multiple of `unit` rows.
template <class Use>
void multiplyTile(const LeftRows& left, const ColumnOperand& right, int first, int unit, const Use& use) {
    constexpr int kTileRows = 32;  // whole groups and whole tiles of a piece's rows are read
    const int columns = std::min(tileColumns(), right.columns - first);
    const std::int64_t whole = std::lcm<std::int64_t>(unit, std::lcm(kTileRows, kernels::rowGroup()));
    const int step = static_cast<int>(std::min<std::int64_t>(whole, left.count()));
    const bool pairs = left.precision() == Precision::BF16;
    kernels::PackedWeights packed;
    kernels::PackedWeightsBf16 packedPairs;
    if (pairs) {
        packedPairs = kernels::PackedWeightsBf16(right.values + first, right.stride, right.depth, columns);
    } else {
        packed = kernels::PackedWeights(right.values + first, right.stride, right.depth, columns);
    }
    kernels::Buffer products(checkedProduct<size_t>(step, columns));
    for (int row = 0; row < left.count(); row += step) {
        const int rows = std::min(step, left.count() - row);
        const size_t at = row * left.stride();
        if (pairs) {
            kernels::productBf16(left.pairs() + at, left.stride(), rows, packedPairs, {}, products.data(),
                                 columns);
        } else {
            kernels::product(left.floats() + at, left.stride(), rows, packed, {}, products.data(), columns);
        }
        use(ProductPiece{row, rows, first, columns}, products.data());
    }
}

}  // namespace mpm::cpu

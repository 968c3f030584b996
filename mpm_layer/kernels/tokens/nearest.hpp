// The most similar other row of every row, on the upper triangle only: each product serves its row and its
// column.
#pragma once

#include <cstddef>
#include <vector>

#include "mpm_layer/kernels/common/buffer.hpp"

namespace mpm::kernels {

/// Unit rows in the two forms that the triangle is computed from.
struct SimilarityOperands {
    const float* rows;  ///< [count][stride], whole row groups readable
    size_t stride;
    const float* panels;  ///< [panel][k][panelColumns()], missing columns zero
    int count;
    int width;  ///< of a row
};

/// Lays `present` rows, at most panelColumns(), as the columns of panel `index`, the rest of it zero.
void packPanel(const float* rows, size_t stride, int present, int width, int index, float* panels);
/// Floats that the panels of `count` rows take.
size_t panelsSize(int count, int width);

/// Best partner found so far of every row; the lowest index wins ties, so bests merge in any order.
struct Best {
    explicit Best(int count);
    void merge(const Best& other);

    std::vector<float> value;
    std::vector<int> index;
};

/// The most similar column of rows first..first+rows: for methods that match one set of tokens with another.
void nearestColumns(const float* rows, size_t stride, int first, int count, const SimilarityOperands& columns,
                    Best& best);

/// Similarities of rows first..first+rows with all later rows; updates the best of both ends.
void nearestChunk(const SimilarityOperands& operands, int first, int rows, Best& best);

}  // namespace mpm::kernels

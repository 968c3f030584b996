// The most similar column of each row, in f32: for methods that match two sets of tokens.
#pragma once

#include <cstddef>
#include <vector>

#include "mpm_layer/kernels/common/buffer.hpp"

namespace mpm::kernels {

/// Unit rows as columns.
struct SimilarColumns {
    const float* panels;  ///< [panel][k][panelColumns()], missing columns zero
    int count;
    int width;  ///< of a row
};

/// Lays `present` rows, at most panelColumns(), as the columns of panel `index`, the rest of it zero.
void packPanel(const float* rows, size_t stride, int present, int width, int index, float* panels);
/// Floats that the panels of `count` rows take.
size_t panelsSize(int count, int width);

/// Best partner found so far of every row; the lowest index wins ties.
struct Best {
    explicit Best(int count);

    std::vector<float> value;
    std::vector<int> index;
};

/// The most similar column of rows first..first+count.
void nearestColumns(const float* rows, size_t stride, int first, int count, const SimilarColumns& columns,
                    Best& best);

/// A row of unit length against rows candidates[0..count) of `rows`: the first candidate with the largest
/// product, and the product. Its bits do not depend on the order of the two rows. -1 if there are none.
int nearestCandidate(const float* row, const float* rows, size_t stride, const int* candidates, int count,
                     int width, float& value);

}  // namespace mpm::kernels

// The search for the most similar column of each row, in f32. Reducers use this search to match two sets of
// tokens, and to find mutual pairs if there are few tokens.
#pragma once

#include <cstddef>
#include <vector>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/leads.hpp"

namespace mpm::kernels {

/// Rows of length 1, packed as the columns of panels.
struct SimilarColumns {
    const float* panels;  ///< [panel][k][panelColumns()], missing columns are zero
    int count;
    int width;  ///< number of elements of a row
};

/// Packs `present` rows, at most panelColumns(), as the columns of panel `index`. Sets the panel's other
/// columns to zero.
void packPanel(const float* rows, size_t stride, int present, int width, int index, float* panels);
size_t panelsSize(int count, int width);

/// The most similar column of each row so far; the lowest index wins ties.
struct Best {
    explicit Best(int count);

    std::vector<float> value;
    std::vector<int> index;
};

/// Finds the most similar column of each of rows first..first+count.
void nearestColumns(const float* rows, size_t stride, int first, int count, const SimilarColumns& columns,
                    Best& best);

/// Finds the leads of each row among all other rows, which are also the columns.
void leadsAmong(const float* rows, size_t stride, const SimilarColumns& columns, Leads& leads);

/// Compares a unit row with the rows whose numbers are in `candidates`. Returns the first candidate with the
/// largest product, or -1 if there is none; sets `value` to the product. The bits of a product do not depend
/// on the order of the two rows.
int nearestCandidate(const float* row, const float* rows, size_t stride, const int* candidates, int count,
                     int width, float& value);

}  // namespace mpm::kernels

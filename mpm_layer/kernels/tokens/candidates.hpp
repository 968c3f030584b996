// The most similar of a few chosen rows: for reducers that look at a neighbourhood only.
#pragma once

#include <cstddef>

namespace mpm::kernels {

/// A row of unit length against rows candidates[0..count) of `rows`: the first one of the largest product,
/// and that product, whose bits do not depend on which of the two rows is which. -1 if there are none.
int nearestCandidate(const float* row, const float* rows, size_t stride, const int* candidates, int count,
                     int width, float& value);

}  // namespace mpm::kernels

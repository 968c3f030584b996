// The most similar of a few chosen rows: for reducers that look at a neighbourhood only.
#pragma once

#include <cstddef>

namespace mpm::kernels {

/// A row of unit length against rows candidates[0..count) of `rows`: the first candidate with the largest
/// product, and the product. Its bits do not depend on the order of the two rows. -1 if there are none.
int nearestCandidate(const float* row, const float* rows, size_t stride, const int* candidates, int count,
                     int width, float& value);

}  // namespace mpm::kernels

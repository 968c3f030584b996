// Content-aware token sharing: one token for four neighbouring patches, where a policy finds one class.
#pragma once

#include <vector>

namespace mpm::decoder {

/// The `count` superpatches with the highest score, in ascending order; the lowest index wins ties. A score
/// is channel 1 minus channel 0 of `policy` [2, superpatches]; NaN is below all others.
std::vector<int> sharedSuperpatches(const float* policy, int superpatches, int count);

/// The cluster of each of rows x columns patches: each of the `shared` superpatches is one. Ids count
/// clusters from the first patch on, row by row.
std::vector<int> sharedMap(const std::vector<int>& shared, int rows, int columns);

}  // namespace mpm::decoder

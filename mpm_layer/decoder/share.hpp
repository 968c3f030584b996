// Content-aware token sharing: one token for four neighbouring patches, where a policy finds one class.
#pragma once

#include <vector>

namespace mpm::decoder {

/// Channel 1 minus channel 0 of `policy` [2, superpatches].
std::vector<float> policyScores(const float* policy, int superpatches);

/// The `count` superpatches with the highest score, in ascending order; the lowest index wins ties. NaN is
/// below all others.
std::vector<int> sharedSuperpatches(std::vector<float> scores, int count);

/// The cluster of each of rows x columns patches: each of the `shared` superpatches is one. Ids count
/// clusters from the first patch on, row by row.
std::vector<int> sharedMap(const std::vector<int>& shared, int rows, int columns);

}  // namespace mpm::decoder

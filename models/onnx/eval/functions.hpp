// Functions that compute many values at once, with the widest vectors of the processor.
#pragma once

#include <cstdint>

namespace mpm::models {

/// Writes exp(x - top), accurate to 2 units in the last place, and returns the sum. No value may be above
/// `top`. If x - top is below -87, the result is 0.
double exponentials(const float* x, float* y, int64_t count, float top);

/// Writes erf(x) within 1e-7.
void errorFunctions(const float* x, float* y, int64_t count);

/// Writes 1 / (1 + exp(-x)) with a relative error of at most 3e-7. If x is below -87, the result is 0.
void sigmoids(const float* x, float* y, int64_t count);

}  // namespace mpm::models

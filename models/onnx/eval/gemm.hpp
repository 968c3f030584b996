// Plain matrix products of the evaluator: C (m x n) = A (m x k) B (k x n), all row-major and dense.
#pragma once

#include <cstdint>

namespace mpm::models {

/// On all threads. `threads` false: on the calling one.
void gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, bool threads = true);

}  // namespace mpm::models

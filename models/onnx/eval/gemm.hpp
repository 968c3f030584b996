// Plain matrix products of the evaluator: C (m x n) = A (m x k) B (k x n), all row-major and dense.
#pragma once

#include <cstdint>

#include "models/onnx/ir/job.hpp"

namespace mpm::models {

/// On all threads. `threads` false: on the calling one. C is incomplete after the time limit.
void gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
          const Deadline& deadline = Deadline(), bool threads = true);

/// The memory it needs on one thread, apart from its operands.
int64_t packedBytes(int64_t n, int64_t k);

}  // namespace mpm::models

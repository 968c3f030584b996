// Plain matrix products of the evaluator: C (m x n) = A (m x k) B (k x n), all row-major and dense.
#pragma once

#include <cstdint>

#include "models/onnx/ir/job.hpp"

namespace mpm::models {

/// On all threads. `threads` false: on the calling one. C is not complete where the time is over.
void gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
          const Deadline& deadline = Deadline(), bool threads = true);

/// What it takes in memory beside its operands, on one thread.
int64_t packedBytes(int64_t n, int64_t k);

}  // namespace mpm::models

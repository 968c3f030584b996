// Declares the 16 x 8 x 16 product of tensor cores, and functions that load the operands. ptx.cuh defines
// these functions for nvcc. For tests on the CPU, tests/support/cuda defines replacements.
#pragma once

#include <cstdint>
#include <cstring>

#include "mpm_layer/cuda/kernels/element.cuh"

namespace mpm::cuda {

/// Copies 16 bytes from global to shared memory, in the background. If `exists` is false, writes zeros.
__device__ void copyAsync(void* to, const void* from, bool exists);

__device__ void closeCopies();

/// Waits until at most `Pending` groups of this thread's copies are unfinished. closeCopies() ends a group.
template <int Pending>
__device__ void awaitCopies();

/// Loads four 8 x 8 matrices of 16-bit elements. Lane 8 m + r passes the address of row r of matrix m.
__device__ void loadMatrices(std::uint32_t (&to)[4], const void* row);
/// Loads four matrices, each transposed.
__device__ void loadMatricesTurned(std::uint32_t (&to)[4], const void* row);

/// Computes sum += a b, with a [16][16] and b [16][8].
template <class T>
__device__ void multiplyAdd(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);

/// Returns 2^v, computed by a hardware instruction with a relative error of up to 2^-22. If 2^v is below
/// 2^-126, returns 0.
__device__ float powerOfTwo(float v);

/// Packs two values into a register, `first` into the lower half.
template <class T>
__device__ inline std::uint32_t packed(float first, float second) {
    const Pack<T, 2> pair{{fromFloat<T>(first), fromFloat<T>(second)}};
    std::uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
}

}  // namespace mpm::cuda

#ifdef __CUDACC__
#include "mpm_layer/cuda/kernels/ptx.cuh"
#endif

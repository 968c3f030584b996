// Launches kernels, with dynamic shared memory. Calls a function of CUDA's runtime instead of <<<>>>, so that
// a host compiler can compile kernels for the tests (tests/support/cuda).
#pragma once

#include "mpm_layer/cuda/device/check.hpp"

#ifndef __CUDACC__
namespace emulated {
unsigned char* sharedMemory();
}
#endif

namespace mpm::cuda {

struct LaunchShape {
    dim3 grid, block;
    size_t sharedBytes = 0;
};

/// Queues kernel(arguments...). Throws CudaFailure with `name` if the launch is rejected. Errors of the
/// running kernel appear at the next wait.
template <class... Parameters, class... Arguments>
void launchKernel(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
                  cudaStream_t stream, const Arguments&... arguments) {
    if (shape.sharedBytes > 0) {
        MPM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shape.sharedBytes)));
    }
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.sharedBytes;
    config.stream = stream;
    const cudaError_t status = cudaLaunchKernelEx(&config, kernel, arguments...);
    if (status != cudaSuccess) checkLaunch(status, name);
}

/// Returns the dynamic shared memory of the block as a T.
template <class T>
__device__ inline T& blockMemory() {
#ifdef __CUDACC__
    extern __shared__ __align__(16) unsigned char memory[];
#else
    unsigned char* const memory = emulated::sharedMemory();
#endif
    return *reinterpret_cast<T*>(memory);
}

}  // namespace mpm::cuda

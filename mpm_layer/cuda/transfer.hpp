// Copies to and from the device. uploadInSlices() and copyOut() use pinned memory and the caller's threads.
#pragma once

#include <cstddef>
#include <vector>

#include "mpm_layer/cuda/device/resources.hpp"
#include "mpm_layer/cuda/interface/entry.h"

namespace mpm::cuda {

template <class T>
void copyUp(DeviceBuffer<T>& to, const std::vector<T>& values, cudaStream_t stream) {
    to.reserve(values.size());
    MPM_CUDA_CHECK(
        cudaMemcpyAsync(to.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
}

template <class T>
void copyDown(T* to, const T* from, size_t count, cudaStream_t stream) {
    if (count == 0) return;
    MPM_CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
}

/// Values in pinned memory, which are copied to `to` at the end of the forward.
struct Download {
    const float* pinned;
    float* to;
    size_t count;
};

/// Uploads values: each slice is copied to the device as soon as it is in pinned memory.
void uploadInSlices(const float* from, size_t count, PinnedBuffer<float>& pinned, float* to,
                    MpmCudaParallel parallel, cudaStream_t stream);
void copyOut(const Download& download, MpmCudaParallel parallel);

}  // namespace mpm::cuda

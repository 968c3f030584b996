// Between ordinary memory and the device, by way of pinned memory, on all threads the caller lends.
#pragma once

#include <cstddef>

#include "mpm_layer/cuda/device/resources.hpp"
#include "mpm_layer/cuda/entry.h"

namespace mpm::cuda {

/// Values waiting in pinned memory for the end of a forward.
struct Download {
    const float* pinned;
    float* to;
    size_t count;
};

/// Slices are handed to the device as soon as they are pinned.
void uploadInSlices(const float* from, size_t count, PinnedBuffer<float>& pinned, float* to,
                    MpmCudaParallel parallel, cudaStream_t stream);
void copyOut(const Download& download, MpmCudaParallel parallel);

}  // namespace mpm::cuda

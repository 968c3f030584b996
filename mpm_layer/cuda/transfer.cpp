#include "mpm_layer/cuda/transfer.hpp"

#include <algorithm>
#include <cstring>

namespace mpm::cuda {
namespace {

constexpr size_t kSlice = size_t{2} << 20;  // floats
constexpr size_t kPart = size_t{64} << 10;

struct Copy {
    const float* from;
    float* to;
    size_t count;
};

void copyPart(void* argument, int32_t index) {
    const Copy& copy = *static_cast<const Copy*>(argument);
    const size_t first = index * kPart;
    std::memcpy(copy.to + first, copy.from + first, std::min(kPart, copy.count - first) * sizeof(float));
}

void copyOnThreads(Copy copy, MpmCudaParallel parallel) {
    const auto parts = static_cast<int32_t>((copy.count + kPart - 1) / kPart);
    if (parallel && parts > 1) {
        parallel(parts, copyPart, &copy);
    } else {
        for (int32_t p = 0; p < parts; ++p)
            copyPart(&copy, p);
    }
}

}  // namespace

void uploadInSlices(const float* from, size_t count, PinnedBuffer<float>& pinned, float* to,
                    MpmCudaParallel parallel, cudaStream_t stream) {
    float* staged = pinned.reserve(count);
    for (size_t first = 0; first < count; first += kSlice) {
        const size_t size = std::min(kSlice, count - first);
        copyOnThreads({from + first, staged + first, size}, parallel);
        MPM_CUDA_CHECK(cudaMemcpyAsync(to + first, staged + first, size * sizeof(float),
                                       cudaMemcpyHostToDevice, stream));
    }
}

void copyOut(const Download& download, MpmCudaParallel parallel) {
    copyOnThreads({download.pinned, download.to, download.count}, parallel);
}

}  // namespace mpm::cuda

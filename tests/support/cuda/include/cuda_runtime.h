// Declares the part of CUDA's runtime and device functions that mpm_layer/cuda uses, for a host compiler.
// Kernels run on the CPU (threads.hpp), memory is host memory (memory.hpp), streams are queues (streams.hpp).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __shared__ static  // a single block runs at a time
#define __launch_bounds__(...)

// --- Types

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorLaunchFailure = 719,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaMemoryType { cudaMemoryTypeUnregistered = 0, cudaMemoryTypeDevice = 2, cudaMemoryTypeManaged = 3 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
constexpr unsigned cudaStreamNonBlocking = 1, cudaHostAllocDefault = 0;

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int major, minor, multiProcessorCount;
};
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
};

// --- Host functions

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);

cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

namespace emulated {

cudaError_t allowSharedBytes(const void* kernel, int bytes);
/// Queues a kernel. `thread` runs the kernel for a single thread of the grid.
cudaError_t queueLaunch(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> thread);

/// Exchanges a 64-bit value between the lanes of a warp. `operation` must be the same in all lanes.
std::uint64_t exchange(unsigned mask, const char* operation, std::uint64_t own, int lane);
int laneOfThread();

template <class T>
T exchanged(unsigned mask, const char* operation, T value, int lane) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t), "a lane exchanges up to 64 bits");
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = exchange(mask, operation, bits, lane);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace emulated

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute, int bytes) {
    return emulated::allowSharedBytes(reinterpret_cast<const void*>(kernel), bytes);
}

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
    // Copies the arguments, because a kernel gets the values at the time of the launch.
    std::function<void()> thread = std::bind(kernel, static_cast<Parameters>(arguments)...);
    return emulated::queueLaunch(*config, reinterpret_cast<const void*>(kernel), std::move(thread));
}

// --- Device functions

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

void __syncthreads();
void __syncwarp();

template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
    return emulated::exchanged(mask, "__shfl_sync", value, lane % 32);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits) {
    return emulated::exchanged(mask, "__shfl_xor_sync", value, emulated::laneOfThread() ^ bits);
}
inline int __any_sync(unsigned mask, int value) {
    int any = value != 0;
    for (int bits = 16; bits > 0; bits /= 2)
        any |= __shfl_xor_sync(mask, any, bits);
    return any;
}
/// Returns the value of the lane `distance` below. The lowest lanes, which have no such lane, keep their
/// value.
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance) {
    const int lane = emulated::laneOfThread(), source = lane - static_cast<int>(distance);
    return emulated::exchanged(mask, "__shfl_up_sync", value, source < 0 ? lane : source);
}

inline unsigned long long atomicMax(unsigned long long* address, unsigned long long value) {
    const unsigned long long before = *address;
    if (value > before) *address = value;
    return before;
}

inline int max(int a, int b) {
    return a > b ? a : b;
}
inline int min(int a, int b) {
    return a < b ? a : b;
}

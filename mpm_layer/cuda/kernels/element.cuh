// Reads, writes and converts elements of activations: f32, bf16 or f16 in memory, f32 in registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace mpm::cuda {

__device__ inline float toFloat(float v) {
    return v;
}
__device__ inline float toFloat(__nv_bfloat16 v) {
    return __bfloat162float(v);
}
__device__ inline float toFloat(__half v) {
    return __half2float(v);
}

template <class T>
__device__ T fromFloat(float v);
template <>
__device__ inline float fromFloat<float>(float v) {
    return v;
}
template <>
__device__ inline __nv_bfloat16 fromFloat<__nv_bfloat16>(float v) {
    return __float2bfloat16_rn(v);
}
template <>
__device__ inline __half fromFloat<__half>(float v) {
    return __float2half_rn(v);
}

/// Neighbouring elements that are read or written in a single access.
template <class T, int Count>
struct alignas(sizeof(T) * Count) Pack {
    T v[Count];
};

template <class T, int Count>
__device__ inline Pack<T, Count> loadPack(const T* from) {
    return *reinterpret_cast<const Pack<T, Count>*>(from);
}

template <class T, int Count>
__device__ inline void storePack(T* to, const Pack<T, Count>& pack) {
    *reinterpret_cast<Pack<T, Count>*>(to) = pack;
}

constexpr unsigned kWholeWarp = 0xffffffffu;

/// Returns the sum over the warp. Every lane gets the same bits, because the two lanes of each exchange add
/// the same two numbers.
__device__ inline float warpSum(float v) {
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(kWholeWarp, v, step);
    return v;
}

__device__ inline float warpMax(float v) {
    for (int step = 16; step > 0; step /= 2)
        v = fmaxf(v, __shfl_xor_sync(kWholeWarp, v, step));
    return v;
}

}  // namespace mpm::cuda

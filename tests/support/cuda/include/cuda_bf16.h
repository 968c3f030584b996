// CUDA's type bf16 for a host compiler.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

struct __nv_bfloat16 {
    std::uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 value) {
    const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

/// Rounds to nearest, ties to even. Every NaN becomes 0x7fff.
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

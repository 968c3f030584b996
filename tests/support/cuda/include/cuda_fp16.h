// CUDA's type f16 for a host compiler.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>

struct __half {
    std::uint16_t bits;
};

inline float __half2float(__half value) {
    const int exponent = value.bits >> 10 & 31, fraction = value.bits & 1023;
    float magnitude;
    if (exponent == 31) {
        magnitude = fraction ? NAN : INFINITY;
    } else if (exponent == 0) {
        magnitude = std::ldexp(static_cast<float>(fraction), -24);
    } else {
        const std::uint32_t bits = static_cast<std::uint32_t>(exponent + 112) << 23 | fraction << 13;
        std::memcpy(&magnitude, &bits, sizeof magnitude);
    }
    return value.bits & 0x8000 ? -magnitude : magnitude;
}

/// Rounds to nearest, ties to even. Values beyond the range of f16 become infinite, every NaN becomes 0x7fff.
inline __half __float2half_rn(float value) {
    if (value != value) return {0x7fff};
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    float magnitude = std::fabs(value);
    if (magnitude >= 65520.0f) return {static_cast<std::uint16_t>(sign | 0x7c00)};
    if (magnitude < 6.103515625e-5f) {  // subnormal: multiples of 2^-24
        return {static_cast<std::uint16_t>(sign | static_cast<int>(std::nearbyint(magnitude * 16777216.0f)))};
    }
    std::uint32_t bits;
    std::memcpy(&bits, &magnitude, sizeof bits);
    bits += 0xfffu + (bits >> 13 & 1u);
    return {static_cast<std::uint16_t>(sign | ((bits >> 13) - (112u << 10)))};
}

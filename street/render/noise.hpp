// Smooth noise from hashes of integers, the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>

namespace mpm::street {

inline uint32_t hash2(int x, int y, uint32_t seed) {
    uint32_t h =
        static_cast<uint32_t>(x) * 0x85EBCA6Bu ^ static_cast<uint32_t>(y) * 0xC2B2AE35u ^ seed * 0x27D4EB2Fu;
    h = (h ^ (h >> 15)) * 0x2C1B3C6Du;
    h = (h ^ (h >> 12)) * 0x297A2D39u;
    return h ^ (h >> 15);
}

/// Returns a random value, 0..1.
inline float hashUnit(int x, int y, uint32_t seed) {
    return static_cast<float>(hash2(x, y, seed) >> 8) * (1.0f / 16777216.0f);
}

/// Returns smooth noise, 0..1, interpolated between random values at whole coordinates.
inline float valueNoise(float x, float y, uint32_t seed) {
    const float fx = std::floor(x), fy = std::floor(y);
    const int ix = static_cast<int>(fx), iy = static_cast<int>(fy);
    float tx = x - fx, ty = y - fy;
    tx = tx * tx * (3 - 2 * tx);
    ty = ty * ty * (3 - 2 * ty);
    const float top = hashUnit(ix, iy, seed) * (1 - tx) + hashUnit(ix + 1, iy, seed) * tx;
    const float bottom = hashUnit(ix, iy + 1, seed) * (1 - tx) + hashUnit(ix + 1, iy + 1, seed) * tx;
    return top * (1 - ty) + bottom * ty;
}

/// Returns the sum of several octaves of noise, 0..1.
inline float fractalNoise(float x, float y, int octaves, uint32_t seed) {
    float sum = 0, weight = 0.5f, total = 0;
    for (int i = 0; i < octaves; ++i) {
        sum += weight * valueNoise(x, y, seed + static_cast<uint32_t>(i));
        total += weight;
        weight *= 0.5f;
        x = 2.03f * x + 17.1f;
        y = 2.03f * y - 9.7f;
    }
    return sum / total;
}

}  // namespace mpm::street

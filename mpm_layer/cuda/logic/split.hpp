// An f32 as three bf16 terms, with which tensor cores multiply as exactly as f32 does.
#pragma once

#include <cstdint>
#include <cstring>

#include "mpm_layer/cuda/logic/host_device.hpp"

namespace mpm::cuda {

/// The nearest value with a significand of 8 bits, ties to even. For finite values.
MPM_HOST_DEVICE inline float roundedToBf16(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits += 0x7fffu + (bits >> 16 & 1u);
    bits &= 0xffff0000u;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// high + middle + low is the value itself unless it is below 1e-33: each term takes 8 of 24 bits.
struct SplitValue {
    float high, middle, low;
};

MPM_HOST_DEVICE inline SplitValue split(float value) {
    const float high = roundedToBf16(value);
    const float rest = value - high;  // exact, as is the next
    const float middle = roundedToBf16(rest);
    return {high, middle, roundedToBf16(rest - middle)};
}

constexpr int kSplitTerms = 3;
constexpr int kSplitStep = 16;  ///< the depth of a tensor core product

/// The place of a term of element `i` in a split row: the terms of a step are neighbours.
MPM_HOST_DEVICE constexpr int splitPlace(int i, int term) {
    return (i / kSplitStep * kSplitTerms + term) * kSplitStep + i % kSplitStep;
}

}  // namespace mpm::cuda

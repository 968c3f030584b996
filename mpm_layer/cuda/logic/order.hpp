// A similarity and its index in an integer, so that an atomic maximum keeps the most similar token and, among
// equals, the lowest index, in any order of the threads.
#pragma once

#include <cstdint>
#include <cstring>

#include "mpm_layer/cuda/logic/host_device.hpp"

namespace mpm::cuda {

using Candidate = unsigned long long;

/// Less than every candidate.
constexpr Candidate kNoCandidate = 0;

/// Unsigned integers that compare as the floats do; both zeros are equal. Not for NaN.
MPM_HOST_DEVICE inline std::uint32_t orderedBits(float value) {
    if (value == 0.0f) value = 0.0f;
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

MPM_HOST_DEVICE inline Candidate candidate(float similarity, int index) {
    return static_cast<Candidate>(orderedBits(similarity)) << 32 | static_cast<std::uint32_t>(~index);
}

/// -1 if there is no candidate.
MPM_HOST_DEVICE inline int indexOf(Candidate c) {
    return c == kNoCandidate ? -1 : ~static_cast<int>(static_cast<std::uint32_t>(c));
}

}  // namespace mpm::cuda

// Vectors as wide as the registers of the instruction sets. Functions that use them are inline or take
// references, because a vector wider than the registers cannot be passed in registers.
#pragma once

#include <cstring>

namespace mpm::models {

typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));

/// Loads a single vector from any address. If a single memcpy() filled a whole array of vectors, the compiler
/// would keep the array in memory instead of registers.
template <typename Floats>
[[gnu::always_inline]] inline void load(const float* from, Floats& value) {
    std::memcpy(&value, from, sizeof(value));
}

enum class Width { Four, Eight, Sixteen };

/// Returns the width of this processor's vectors.
inline Width vectorWidth() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return Width::Sixteen;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Width::Eight;
#endif
    return Width::Four;
}

}  // namespace mpm::models

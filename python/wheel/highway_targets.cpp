// A replacement for Highway's library: finds the instruction sets that the processor supports.
#include <cstdint>

#include <hwy/highway.h>

namespace hwy {

namespace {

std::int64_t disabled = 0;

/// Returns the targets of the processor. __builtin_cpu_supports() also checks whether the operating system
/// saves the wide registers, so no further check is needed.
std::int64_t ofProcessor() {
    __builtin_cpu_init();
    std::int64_t targets = HWY_EMU128 | HWY_SCALAR;
    const bool sse4 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                      __builtin_cpu_supports("aes");
    if (__builtin_cpu_supports("ssse3")) targets |= HWY_SSSE3;
    if (!sse4) return targets;
    targets |= HWY_SSE4;
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                      __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt");
    if (!avx2) return targets;
    targets |= HWY_AVX2;
    const bool avx3 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd");
    return avx3 ? targets | HWY_AVX3 : targets;
}

}  // namespace

std::int64_t SupportedTargets() {
    const std::int64_t targets = ofProcessor() & ~disabled;
    return targets != 0 ? targets : HWY_STATIC_TARGET;
}

void DisableTargets(std::int64_t targets) {
    disabled = targets;
    // Makes the next call to a kernel choose the target again.
    GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
    static ChosenTarget chosen;
    return chosen;
}

}  // namespace hwy

// An upper limit on the instruction set: MPM_MAX_CPU_ISA=avx512 (without AMX), avx2 or sse4 makes a wide
// machine compute as a narrower one does, to compare results between machines and to test the narrower
// kernels.
#include <cstdlib>
#include <string>

#include <hwy/highway.h>

#include "mpm_layer/kernels/isa.hpp"

namespace mpm::kernels {

static std::string limit() {
    const char* wanted = std::getenv("MPM_MAX_CPU_ISA");
    return wanted ? wanted : "";
}

bool limitInstructionSet() {
    const std::string most = limit();
    // Among x86's, a better target is a lower bit: new ones of a later Highway are below, too.
    if (most == "avx2") hwy::DisableTargets(HWY_AVX2 - 1);
    if (most == "sse4") hwy::DisableTargets(HWY_SSE4 - 1);
    return !most.empty();
}

bool allowsAmx() {
    return limit().empty();
}

}  // namespace mpm::kernels

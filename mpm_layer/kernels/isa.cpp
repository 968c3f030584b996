// An upper limit on the instruction set: MPM_MAX_CPU_ISA=avx2 (or sse4) makes a wide machine compute as a
// narrower one does, to compare results between machines and to test the narrower kernels.
#include <cstdlib>
#include <string>

#include <hwy/highway.h>

#include "mpm_layer/kernels/isa.hpp"

namespace mpm::kernels {

bool limitInstructionSet() {
    const char* wanted = std::getenv("MPM_MAX_CPU_ISA");
    const std::string limit = wanted ? wanted : "";
    if (limit == "avx2") hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
    if (limit == "sse4") hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL | HWY_AVX2);
    return !limit.empty();
}

}  // namespace mpm::kernels

// An upper limit on the instruction set: MPM_MAX_CPU_ISA=avx512 (without AMX), avx-vnni, avx2 or sse4 makes a
// wide machine compute as a narrower one does, to compare results between machines and to test the narrower
// kernels.
#include <cstdlib>
#include <string>

#include <hwy/highway.h>
#include <opencv2/core.hpp>

#include "base/printable.hpp"
#include "mpm_layer/kernels/common/isa.hpp"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace mpm::kernels {

static std::string limit() {
    const char* wanted = std::getenv("MPM_MAX_CPU_ISA");
    return wanted ? wanted : "";
}

bool limitInstructionSet() {
    const std::string most = limit();
    // Among x86's, a better target is a lower bit: new ones of a later Highway are below, too.
    if (most == "avx2" || most == "avx-vnni") hwy::DisableTargets(HWY_AVX2 - 1);
    if (most == "sse4") hwy::DisableTargets(HWY_SSE4 - 1);
    return !most.empty();
}

bool allowsAmx() {
    return limit().empty();
}

bool allowsVnni() {
    const std::string most = limit();
    return most.empty() || most == "avx512" || most == "avx-vnni";
}

bool hasSdot() {
#if defined(__aarch64__) && defined(__linux__)
    constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP
    return (getauxval(AT_HWCAP) & kDotProducts) != 0;
#else
    return false;
#endif
}

bool hasSmmla() {
#if defined(__aarch64__) && defined(__linux__)
    constexpr unsigned long kByteMatrices = 1UL << 13;  // HWCAP2_I8MM
    return (getauxval(AT_HWCAP2) & kByteMatrices) != 0;
#else
    return false;
#endif
}

void checkInstructionSetLimit() {
    const std::string most = limit();
    if (most.empty() || most == "avx512" || most == "avx-vnni" || most == "avx2" || most == "sse4") return;
    CV_Error(cv::Error::StsBadArg, "mpm: MPM_MAX_CPU_ISA='" + printable(most, 40) +
                                       "' is not known; expected avx512, avx-vnni, avx2 or sse4");
}

}  // namespace mpm::kernels

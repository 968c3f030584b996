// If MPM_MAX_CPU_ISA is set, kernels use only the instructions of an older processor. With this limit,
// results can be compared between machines, and a single machine can test all kernels.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include <hwy/highway.h>
#include <opencv2/core.hpp>

#include "base/printable.hpp"
#include "mpm_layer/kernels/common/isa.hpp"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace mpm::kernels {

namespace {

struct Limit {
    const char* name;
    std::int64_t better;  // mask of the Highway targets to forbid; on x86, better targets have lower bits
    bool amx, bf16, vnni;
};

constexpr Limit kNone{"", 0, true, true, true};
constexpr Limit kLimits[] = {
    {"avx512", 0, false, true, true},        // Zen 4, Cooper Lake
    {"avx512-vnni", 0, false, false, true},  // Cascade Lake, Ice Lake
    {"avx512-bw", 0, false, false, false},   // Skylake-X
    {"avx-vnni", HWY_AVX2 - 1, false, false, true},
    {"avx2", HWY_AVX2 - 1, false, false, false},
    {"sse4", HWY_SSE4 - 1, false, false, false},
};

std::string wanted() {
    const char* name = std::getenv("MPM_MAX_CPU_ISA");
    return name ? name : "";
}

/// Returns the limit with this name, or null.
const Limit* find(const std::string& name) {
    if (name.empty()) return &kNone;
    const auto* found = std::find_if(std::begin(kLimits), std::end(kLimits),
                                     [&](const Limit& one) { return one.name == name; });
    return found == std::end(kLimits) ? nullptr : found;
}

/// Returns the limit, or kNone if the name is unknown: checkInstructionSetLimit() rejects an unknown name
/// before anything is computed.
const Limit& limit() {
    const Limit* found = find(wanted());
    return found ? *found : kNone;
}

}  // namespace

bool limitInstructionSet() {
    if (limit().better) hwy::DisableTargets(limit().better);
    return !wanted().empty();
}

bool allowsAmx() {
    return limit().amx;
}

bool allowsBf16() {
    return limit().bf16;
}

bool allowsVnni() {
    return limit().vnni;
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
    if (find(wanted())) return;
    std::string known;
    for (const Limit& one : kLimits)
        known += (known.empty() ? "" : ", ") + std::string(one.name);
    CV_Error(cv::Error::StsBadArg,
             "mpm: MPM_MAX_CPU_ISA='" + printable(wanted(), 40) + "' is not known; expected one of " + known);
}

}  // namespace mpm::kernels

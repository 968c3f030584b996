// Functions that load and store the end of a row, which may have fewer elements than a vector has lanes. On
// older instruction sets, Highway's masked loads may access masked lanes; these functions do not.

#if defined(MPM_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_LANES_INL_H_
#undef MPM_KERNELS_LANES_INL_H_
#else
#define MPM_KERNELS_LANES_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Float = hn::Vec<FloatTag>;

/// Loads the first `count` lanes, or all lanes if `count` is larger. The other lanes are zero.
HWY_INLINE Float loadPart(const float* from, int count) {
    const FloatTag d;
    if (count >= static_cast<int>(hn::Lanes(d))) return hn::LoadU(d, from);
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
    std::copy_n(from, count, lanes);
    return hn::Load(d, lanes);
}

HWY_INLINE void storePart(Float v, float* to, int count) {
    const FloatTag d;
    if (count >= static_cast<int>(hn::Lanes(d))) {
        hn::StoreU(v, d, to);
        return;
    }
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, d, lanes);
    std::copy_n(lanes, count, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

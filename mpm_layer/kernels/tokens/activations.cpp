#include "mpm_layer/kernels/tokens/activations.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/activations.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/product/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

void Activate(Activation activation, const float* in, size_t count, float* out) {
    const size_t lanes = hn::Lanes(FloatTag());
    withFunction(activation, [=](auto function) HWY_ATTR {
        for (size_t k = 0; k < count; k += lanes) {
            const int here = static_cast<int>(std::min(lanes, count - k));
            storePart(function.of(loadPart(in + k, here)), out + k, here);
        }
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(Activate);

void activate(Activation activation, const float* in, size_t count, float* out) {
    HWY_DYNAMIC_DISPATCH(Activate)(activation, in, count, out);
}

}  // namespace mpm::kernels
#endif

#include "bench/four_loads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/four_loads.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers must come after foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mpm::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Computes two vectors of channels in each step. Each corner has a separate sum, so that no addition waits
// for another.
void FourLoads(const float* values, const std::int32_t* at, const float* weights, size_t samples,
               int channels, float* out) {
    const hn::CappedTag<float, 16> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int c = 0; c < channels; c += 2 * lanes) {
        auto a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
        for (size_t s = 0; s < 4 * samples; s += 4) {
            const float *p = values + at[s] + c, *q = values + at[s + 1] + c, *r = values + at[s + 2] + c,
                        *t = values + at[s + 3] + c;
            a0 = hn::MulAdd(hn::Set(d, weights[s]), hn::LoadU(d, p), a0);
            a1 = hn::MulAdd(hn::Set(d, weights[s]), hn::LoadU(d, p + lanes), a1);
            b0 = hn::MulAdd(hn::Set(d, weights[s + 1]), hn::LoadU(d, q), b0);
            b1 = hn::MulAdd(hn::Set(d, weights[s + 1]), hn::LoadU(d, q + lanes), b1);
            c0 = hn::MulAdd(hn::Set(d, weights[s + 2]), hn::LoadU(d, r), c0);
            c1 = hn::MulAdd(hn::Set(d, weights[s + 2]), hn::LoadU(d, r + lanes), c1);
            d0 = hn::MulAdd(hn::Set(d, weights[s + 3]), hn::LoadU(d, t), d0);
            d1 = hn::MulAdd(hn::Set(d, weights[s + 3]), hn::LoadU(d, t + lanes), d1);
        }
        hn::StoreU(hn::Add(hn::Add(a0, b0), hn::Add(c0, d0)), d, out + c);
        hn::StoreU(hn::Add(hn::Add(a1, b1), hn::Add(c1, d1)), d, out + c + lanes);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::bench {

HWY_EXPORT(FourLoads);

void fourLoads(const float* values, const std::int32_t* at, const float* weights, size_t samples,
               int channels, float* out) {
    HWY_DYNAMIC_DISPATCH(FourLoads)(values, at, weights, samples, channels, out);
}

}  // namespace mpm::bench
#endif  // HWY_ONCE

#include "mpm_layer/kernels/tokens/nearest.hpp"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/candidates.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// Two sums in flight hide half of the latency of a multiply-add; more would spill on AVX2 with the tail's
// mask.
HWY_INLINE float dot(const float* a, const float* b, int width) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    Float even = hn::Zero(d), odd = hn::Zero(d);
    int i = 0;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
        even = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), even);
        odd = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), odd);
    }
    for (; i < width; i += lanes) {
        const int count = std::min(lanes, width - i);
        even = hn::MulAdd(loadPart(a + i, count), loadPart(b + i, count), even);
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

int NearestCandidate(const float* row, const float* rows, size_t stride, const int* candidates, int count,
                     int width, float& value) {
    int best = -1;
    value = -std::numeric_limits<float>::infinity();
    for (int c = 0; c < count; ++c) {
        const float product = dot(row, rows + candidates[c] * stride, width);
        if (product > value) value = product, best = candidates[c];
    }
    return best;
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(NearestCandidate);

int nearestCandidate(const float* row, const float* rows, size_t stride, const int* candidates, int count,
                     int width, float& value) {
    return HWY_DYNAMIC_DISPATCH(NearestCandidate)(row, rows, stride, candidates, count, width, value);
}

}  // namespace mpm::kernels
#endif

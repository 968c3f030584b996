#include "mpm_layer/kernels/tokens/rows.hpp"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/masked_softmax.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/functions-inl.h"
#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// Scores of visible keys; minus infinity for hidden keys and past the end.
template <bool kMasked>
HWY_INLINE Float keptScores(const float* scores, const float* mask, int count) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const Float lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
    Float x = loadPart(scores, count);
    if (kMasked) x = hn::IfThenElse(hn::Lt(loadPart(mask, count), hn::Zero(d)), lowest, x);
    if (count >= lanes) return x;
    return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(count)), x, lowest);
}

HWY_INLINE bool keepsNone(const float* mask, int count) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    int i = 0;
    for (; i + lanes <= count; i += lanes)
        if (!hn::AllTrue(d, hn::Lt(hn::LoadU(d, mask + i), hn::Zero(d)))) return false;
    for (; i < count; ++i)
        if (!(mask[i] < 0)) return false;
    return true;
}

template <bool kMasked>
HWY_INLINE void softmax(const float* scores, const float* mask, int count, float* to) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    Float largest = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int i = 0; i < count; i += lanes)
        largest = hn::Max(largest, keptScores<kMasked>(scores + i, mask + i, count - i));
    const Float peak = hn::MaxOfLanes(d, largest), scale = hn::Set(d, 1.44269504f);
    Float sum = hn::Zero(d);
    for (int i = 0; i < count; i += lanes) {
        const Float x = keptScores<kMasked>(scores + i, mask + i, count - i);
        const Float power = exp2(hn::Mul(hn::Sub(x, peak), scale));
        storePart(power, to + i, count - i);
        sum = hn::Add(sum, power);
    }
    const Float share = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, sum));
    for (int i = 0; i < count; i += lanes)
        storePart(hn::Mul(loadPart(to + i, count - i), share), to + i, count - i);
}

void MaskedSoftmax(const float* scores, const float* mask, int count, float* to) {
    if (!mask || keepsNone(mask, count)) {
        softmax<false>(scores, scores, count, to);
    } else {
        softmax<true>(scores, mask, count, to);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(MaskedSoftmax);

void maskedSoftmax(const float* scores, const float* mask, int count, float* to) {
    HWY_DYNAMIC_DISPATCH(MaskedSoftmax)(scores, mask, count, to);
}

}  // namespace mpm::kernels
#endif  // HWY_ONCE

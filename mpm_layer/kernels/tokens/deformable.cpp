#include "mpm_layer/kernels/tokens/deformable.hpp"

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/common/buffer.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/deformable.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/functions-inl.h"
#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// Per sample: four corners, as elements from DeformableHead::values and as weights. A sample that is outside
// has no corners: its first one is negative.
struct Samples {
    Samples(float* scratch, size_t room) : offsets(scratch), strengths(scratch + 2 * room) {
        for (int k = 0; k < 4; ++k) {
            weight[k] = scratch + (3 + k) * room;
            at[k] = reinterpret_cast<std::int32_t*>(scratch + (7 + k) * room);
        }
    }
    float *offsets, *strengths;
    float* weight[4];
    std::int32_t* at[4];
};

constexpr float kLog2OfE = 1.44269504f;

/// `count` elements, at least 1; where there are more than lanes, the first ones.
HWY_INLINE Float loadFew(const float* from, int count) {
#if HWY_TARGET <= HWY_AVX2
    // Masked lanes are not accessed by these instruction sets.
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(std::min(count, lanes))), d, from);
#else
    return loadPart(from, count);
#endif
}

HWY_INLINE void copyFew(const float* from, int count, float* to) {
    const FloatTag d;
    for (int i = 0; i < count; i += static_cast<int>(hn::Lanes(d)))
        hn::StoreU(loadFew(from + i, count - i), d, to + i);
}

// Whole vectors are written: what is behind the last element is overwritten by the next query, or not read.
HWY_INLINE void softmax(const float* logits, int count, float* to) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const Float lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
    Float largest = lowest;
    for (int i = 0; i < count; i += lanes) {
        const auto present = hn::FirstN(d, static_cast<size_t>(std::min(count - i, lanes)));
        const Float x = hn::IfThenElse(present, loadFew(logits + i, count - i), lowest);
        hn::StoreU(x, d, to + i);
        largest = hn::Max(largest, x);
    }
    const Float scale = hn::Set(d, kLog2OfE), peak = hn::MaxOfLanes(d, largest);
    Float sum = hn::Zero(d);
    for (int i = 0; i < count; i += lanes) {
        const Float x = exp2(hn::Mul(hn::Sub(hn::LoadU(d, to + i), peak), scale));
        hn::StoreU(x, d, to + i);
        sum = hn::Add(sum, x);
    }
    const Float share = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, sum));
    for (int i = 0; i < count; i += lanes)
        hn::StoreU(hn::Mul(hn::LoadU(d, to + i), share), d, to + i);
}

// Two neighbours along one axis: their places, kept inside, and their weights, 0 outside.
struct Neighbours {
    Float low, high, lowWeight, highWeight;

    HWY_INLINE Neighbours(Float place, Float size) {
        const FloatTag d;
        const Float one = hn::Set(d, 1.0f), zero = hn::Zero(d);
        const Float first = hn::Floor(place), second = hn::Add(first, one);
        const Float part = hn::Sub(place, first);
        low = hn::Max(first, zero);
        high = hn::Min(second, hn::Sub(size, one));
        lowWeight = hn::IfThenElseZero(hn::Ge(first, zero), hn::Sub(one, part));
        highWeight = hn::IfThenElseZero(hn::Lt(second, size), part);
    }
};

// Comparisons with NaN fail: such a sample is outside.
HWY_INLINE void locate(const DeformableHead& head, size_t i, const Samples& to) {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    Float x, y;
    hn::LoadInterleaved2(d, to.offsets + 2 * i, x, y);
    x = hn::Add(x, hn::LoadU(d, head.x + i));
    y = hn::Add(y, hn::LoadU(d, head.y + i));
    const Float columns = hn::LoadU(d, head.columns + i), rows = hn::LoadU(d, head.rows + i);
    const Float before = hn::Set(d, -1.0f);
    const auto inside =
        hn::And(hn::And(hn::Gt(x, before), hn::Lt(x, columns)), hn::And(hn::Gt(y, before), hn::Lt(y, rows)));
    const Neighbours across(hn::IfThenElseZero(inside, x), columns);
    const Neighbours down(hn::IfThenElseZero(inside, y), rows);
    const auto step = hn::Set(di, head.step), pitch = hn::LoadU(di, head.pitch + i),
               start = hn::LoadU(di, head.start + i);
    const auto left = hn::Mul(hn::ConvertTo(di, across.low), step),
               right = hn::Mul(hn::ConvertTo(di, across.high), step);
    const auto upper = hn::Add(hn::Mul(hn::ConvertTo(di, down.low), pitch), start),
               lower = hn::Add(hn::Mul(hn::ConvertTo(di, down.high), pitch), start);
    const auto first = hn::IfThenElse(hn::RebindMask(di, inside), hn::Add(upper, left), hn::Set(di, -1));
    hn::StoreU(first, di, to.at[0] + i);
    hn::StoreU(hn::Add(upper, right), di, to.at[1] + i);
    hn::StoreU(hn::Add(lower, left), di, to.at[2] + i);
    hn::StoreU(hn::Add(lower, right), di, to.at[3] + i);
    const Float strength = hn::LoadU(d, to.strengths + i);
    const Float above = hn::Mul(strength, down.lowWeight), below = hn::Mul(strength, down.highWeight);
    hn::StoreU(hn::Mul(above, across.lowWeight), d, to.weight[0] + i);
    hn::StoreU(hn::Mul(above, across.highWeight), d, to.weight[1] + i);
    hn::StoreU(hn::Mul(below, across.lowWeight), d, to.weight[2] + i);
    hn::StoreU(hn::Mul(below, across.highWeight), d, to.weight[3] + i);
}

// V vectors of channels; the last one may be only a part, of `count` elements. A corner has a sum of its own:
// one chain of additions would be too slow to wait for.
template <int V, bool kPart>
HWY_INLINE void addSamples(const float* values, const Samples& samples, int first, int end, int count,
                           float* out) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    Float sum[4][V];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            sum[k][v] = hn::Zero(d);
    }
    for (int i = first; i < end; ++i) {
        if (samples.at[0][i] < 0) continue;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const float* from = values + samples.at[k][i];
            const Float weight = hn::Set(d, samples.weight[k][i]);
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) {
                const Float x = kPart ? loadFew(from, count) : hn::LoadU(d, from + v * lanes);
                sum[k][v] = hn::MulAdd(weight, x, sum[k][v]);
            }
        }
    }
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        const Float all = hn::Add(hn::Add(sum[0][v], sum[1][v]), hn::Add(sum[2][v], sum[3][v]));
        storePart(all, out + v * lanes, kPart ? count : lanes);
    }
}

HWY_INLINE void addQuery(const DeformableHead& head, const Samples& samples, int first, float* out) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag())), end = first + head.samples;
    int c = 0;
    for (; head.channels - c >= 2 * lanes; c += 2 * lanes)
        addSamples<2, false>(head.values + c, samples, first, end, 0, out + c);
    for (; head.channels - c >= lanes; c += lanes)
        addSamples<1, false>(head.values + c, samples, first, end, 0, out + c);
    if (c < head.channels)
        addSamples<1, true>(head.values + c, samples, first, end, head.channels - c, out + c);
}

void RunDeformableHead(const DeformableHead& head, float* scratch) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag())), count = head.queries * head.samples;
    const Samples samples(scratch, deformableRoom(count));
    for (int q = 0; q < head.queries; ++q) {
        const int first = q * head.samples;
        softmax(head.logits + q * head.logitStride, head.samples, samples.strengths + first);
        copyFew(head.offsets + q * head.offsetStride, 2 * head.samples, samples.offsets + 2 * first);
    }
    for (int i = 0; i < count; i += lanes)
        locate(head, i, samples);
    for (int q = 0; q < head.queries; ++q)
        addQuery(head, samples, q * head.samples, head.out + q * head.outStride);
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(RunDeformableHead);

// Whole vectors of the widest instruction set are read and written, and one more behind a query's last one.
size_t deformableRoom(size_t samples) {
    constexpr size_t kLanes = kAlignment / sizeof(float);
    return (samples + 2 * kLanes - 1) / kLanes * kLanes;
}

size_t deformableScratch(size_t samples) {
    return 11 * deformableRoom(samples);
}

void deformableHead(const DeformableHead& head, float* scratch) {
    HWY_DYNAMIC_DISPATCH(RunDeformableHead)(head, scratch);
}

}  // namespace mpm::kernels
#endif  // HWY_ONCE

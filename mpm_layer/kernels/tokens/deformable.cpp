#include "mpm_layer/kernels/tokens/deformable.hpp"

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/common/buffer.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/deformable.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/functions-inl.h"
#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// The samples of all queries. For each sample, `at` is the index of the upper left corner in
// DeformableHead::values, and `weight` has the weights of the four corners.
struct Samples {
    Samples(float* scratch, size_t room)
        : offsets(scratch),
          strengths(scratch + 2 * room),
          at(reinterpret_cast<std::int32_t*>(scratch + 7 * room)) {
        for (int k = 0; k < 4; ++k)
            weight[k] = scratch + (3 + k) * room;
    }
    float *offsets, *strengths;
    float* weight[4];
    std::int32_t* at;
};

constexpr float kLog2OfE = 1.44269504f;

/// Like loadPart(), but faster on some instruction sets.
HWY_INLINE Float loadFew(const float* from, int count) {
#if HWY_TARGET <= HWY_AVX2
    // On these instruction sets, masked loads do not access masked lanes.
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

// Writes whole vectors, including elements after the last logit. The next query overwrites these elements;
// after the last query, these elements have no effect on the output.
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

// Finds corners and weights of a vector of samples. If a sample is outside the level, moves its corners to
// the zeros below the level. Comparisons with NaN are false, so a sample at NaN counts as outside.
HWY_INLINE void locate(const DeformableHead& head, size_t i, const Samples& to) {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    Float x, y;
    hn::LoadInterleaved2(d, to.offsets + 2 * i, x, y);
    x = hn::Add(x, hn::LoadU(d, head.x + i));
    y = hn::Add(y, hn::LoadU(d, head.y + i));
    const Float columns = hn::LoadU(d, head.columns + i), rows = hn::LoadU(d, head.rows + i);
    const Float before = hn::Set(d, -1.0f), one = hn::Set(d, 1.0f);
    const auto inside =
        hn::And(hn::And(hn::Gt(x, before), hn::Lt(x, columns)), hn::And(hn::Gt(y, before), hn::Lt(y, rows)));
    x = hn::IfThenElse(inside, x, before);
    y = hn::IfThenElse(inside, y, rows);
    const Float left = hn::Floor(x), upper = hn::Floor(y);
    const auto row = hn::Add(hn::Mul(hn::ConvertTo(di, upper), hn::LoadU(di, head.pitch + i)),
                             hn::LoadU(di, head.start + i));
    hn::StoreU(hn::Add(row, hn::Mul(hn::ConvertTo(di, left), hn::Set(di, head.channels))), di, to.at + i);
    const Float across = hn::Sub(x, left), down = hn::Sub(y, upper),
                strength = hn::LoadU(d, to.strengths + i);
    const Float above = hn::Mul(strength, hn::Sub(one, down)), below = hn::Mul(strength, down);
    hn::StoreU(hn::Mul(above, hn::Sub(one, across)), d, to.weight[0] + i);
    hn::StoreU(hn::Mul(above, across), d, to.weight[1] + i);
    hn::StoreU(hn::Mul(below, hn::Sub(one, across)), d, to.weight[2] + i);
    hn::StoreU(hn::Mul(below, across), d, to.weight[3] + i);
}

// Adds up the samples of V vectors of channels, from channel `c` on. If kPart, fewer channels than lanes are
// left. Each corner has a separate sum, because a single chain of additions would be slow.
template <int V, bool kPart>
HWY_INLINE void addSamples(const DeformableHead& head, const Samples& samples, int first, int c, float* out) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d)), count = head.channels - c;
    const float* const values = head.values + c;
    Float sum[4][V];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            sum[k][v] = hn::Zero(d);
    }
    for (int i = 0; i < head.samples; ++i) {
        const float* const upper = values + samples.at[first + i];
        const float* const lower = upper + head.pitch[i];
        const float* const corner[4] = {upper, upper + head.channels, lower, lower + head.channels};
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const Float weight = hn::Set(d, samples.weight[k][first + i]);
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) {
                const Float x = kPart ? loadFew(corner[k], count) : hn::LoadU(d, corner[k] + v * lanes);
                sum[k][v] = hn::MulAdd(weight, x, sum[k][v]);
            }
        }
    }
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        const Float all = hn::Add(hn::Add(sum[0][v], sum[1][v]), hn::Add(sum[2][v], sum[3][v]));
        storePart(all, out + c + v * lanes, kPart ? count : lanes);
    }
}

HWY_INLINE void addQuery(const DeformableHead& head, const Samples& samples, int first, float* out) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
    int c = 0;
    for (; head.channels - c >= 2 * lanes; c += 2 * lanes)
        addSamples<2, false>(head, samples, first, c, out);
    for (; head.channels - c >= lanes; c += lanes)
        addSamples<1, false>(head, samples, first, c, out);
    if (c < head.channels) addSamples<1, true>(head, samples, first, c, out);
}

template <int kWrite>
HWY_INLINE void fetch(const float* from, int count) {
    constexpr int kLine = static_cast<int>(kAlignment / sizeof(float));
    for (int i = 0; i < count; i += kLine)
        __builtin_prefetch(from + i, kWrite);
    __builtin_prefetch(from + count - 1, kWrite);
}

// Prefetches the logits, offsets and output of a query. The processor does not prefetch these short arrays by
// itself, because the arrays of two queries are far apart.
HWY_INLINE void fetchQuery(const DeformableHead& head, int q) {
    fetch<0>(head.logits + q * head.logitStride, head.samples);
    fetch<0>(head.offsets + q * head.offsetStride, 2 * head.samples);
    fetch<1>(head.out + q * head.outStride, head.channels);
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
    for (int q = 0; q < head.queries; ++q) {
        if (q < head.next) fetchQuery(head, head.queries + q);
        addQuery(head, samples, q * head.samples, head.out + q * head.outStride);
    }
}

void PackPositions(const float* from, size_t stride, int channels, int count, float* to) {
    constexpr int kAhead = 16;
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < count; ++i, from += stride, to += channels) {
        if (i + kAhead < count) fetch<0>(from + kAhead * stride, channels);
        int c = 0;
        for (; channels - c >= lanes; c += lanes)
            hn::StoreU(hn::LoadU(d, from + c), d, to + c);
        if (c < channels) storePart(loadFew(from + c, channels - c), to + c, channels - c);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(RunDeformableHead);
HWY_EXPORT(PackPositions);

// Adds room for a vector, and rounds up to whole vectors of the widest instruction set: the functions above
// read and write whole vectors, even beyond the last sample of a query.
size_t deformableRoom(size_t samples) {
    constexpr size_t kLanes = kAlignment / sizeof(float);
    return (samples + 2 * kLanes - 1) / kLanes * kLanes;
}

size_t deformableScratch(size_t samples) {
    return 8 * deformableRoom(samples);
}

void deformableHead(const DeformableHead& head, float* scratch) {
    HWY_DYNAMIC_DISPATCH(RunDeformableHead)(head, scratch);
}

void packPositions(const float* from, size_t stride, int channels, int count, float* to) {
    HWY_DYNAMIC_DISPATCH(PackPositions)(from, stride, channels, count, to);
}

}  // namespace mpm::kernels
#endif

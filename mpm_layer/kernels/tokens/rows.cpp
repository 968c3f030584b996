#include "mpm_layer/kernels/tokens/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/rows.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/functions-inl.h"
#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {
// Calls body(vector, index, count) for each vector of a row. The vector has `count` elements of the row, from
// element `index` on; all other lanes are zero.
template <class Body>
HWY_INLINE void forEachVector(const float* row, int width, const Body& body) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
    int i = 0;
    for (; i + lanes <= width; i += lanes)
        body(hn::LoadU(FloatTag(), row + i), i, lanes);
    if (i < width) body(loadPart(row + i, width - i), i, width - i);
}

HWY_INLINE float sumOf(Float v) {
    return hn::GetLane(hn::SumOfLanes(FloatTag(), v));
}

void NormaliseRow(const float* in, int width, const float* weight, const float* bias, const NormRule& rule,
                  float* out) {
    const FloatTag d;
    Float mean = hn::Zero(d);
    if (rule.kind == NormKind::Layer) {
        Float sum = hn::Zero(d);
        forEachVector(in, width, [&](Float v, int, int) HWY_ATTR { sum = hn::Add(sum, v); });
        mean = hn::Set(d, sumOf(sum) / static_cast<float>(width));
    }
    Float squares = hn::Zero(d);
    forEachVector(in, width, [&](Float v, int, int count) HWY_ATTR {
        const Float centred = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count)), hn::Sub(v, mean));
        squares = hn::MulAdd(centred, centred, squares);
    });
    const Float inverse =
        hn::Set(d, 1.0f / std::sqrt(sumOf(squares) / static_cast<float>(width) + rule.epsilon));
    forEachVector(in, width, [&](Float v, int i, int count) HWY_ATTR {
        Float y = hn::Mul(hn::Sub(v, mean), inverse);
        if (weight) y = hn::Mul(y, loadPart(weight + i, count));
        if (bias) y = hn::Add(y, loadPart(bias + i, count));
        storePart(y, out + i, count);
    });
}

float SquaredDistance(const float* a, const float* b, int width) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    Float even = hn::Zero(d), odd = hn::Zero(d);
    const auto add = [&](int i, int count, Float& sum) HWY_ATTR {
        Float v = loadPart(a + i, count);
        if (b) v = hn::Sub(v, loadPart(b + i, count));
        sum = hn::MulAdd(v, v, sum);
    };
    int i = 0;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
        add(i, lanes, even);
        add(i + lanes, lanes, odd);
    }
    for (; i < width; i += lanes)
        add(i, std::min(lanes, width - i), even);
    return sumOf(hn::Add(even, odd));
}

float DotRows(const float* a, const float* b, int width) {
    Float sum = hn::Zero(FloatTag());
    forEachVector(a, width, [&](Float v, int i, int count) HWY_ATTR {
        sum = hn::MulAdd(v, loadPart(b + i, count), sum);
    });
    return sumOf(sum);
}

void AddScaledRow(float factor, const float* from, int width, float* to) {
    const Float by = hn::Set(FloatTag(), factor);
    forEachVector(from, width, [&](Float v, int i, int count) HWY_ATTR {
        storePart(hn::MulAdd(v, by, loadPart(to + i, count)), to + i, count);
    });
}

/// If the squares neither overflow nor underflow, computes x / |x| without scaling and returns true. The
/// result has the same bits as with scaling.
HWY_INLINE bool unitRowAsItIs(const float* in, int width, float* out) {
    constexpr float kLeast = 1e-20f, kMost = 1e20f;
    const FloatTag d;
    Float squares = hn::Zero(d);
    forEachVector(in, width, [&](Float v, int, int) HWY_ATTR { squares = hn::MulAdd(v, v, squares); });
    const float sum = sumOf(squares);
    if (!(sum >= kLeast && sum <= kMost)) return false;  // also if NaN
    const Float inverse = hn::Set(d, 1.0f / std::sqrt(sum));
    forEachVector(in, width, [&](Float v, int i, int count) HWY_ATTR {
        storePart(hn::Mul(v, inverse), out + i, count);
    });
    return true;
}

bool UnitRow(const float* in, int width, float* out) {
    if (unitRowAsItIs(in, width, out)) return true;
    const FloatTag d;
    Float peak = hn::Zero(d), poison = hn::Zero(d);
    forEachVector(in, width, [&](Float v, int, int) HWY_ATTR {
        peak = hn::Max(peak, hn::Abs(v));
        // x - x is 0 for every finite x and NaN for all others, and NaN survives addition.
        poison = hn::Add(poison, hn::Sub(v, v));
    });
    if (!(sumOf(poison) == 0.0f)) return false;
    const float largest = hn::GetLane(hn::MaxOfLanes(d, peak));
    if (largest == 0.0f) {
        std::fill(out, out + width, 0.0f);
        return true;
    }
    // Powers of two bring the largest element near 1 without rounding. There are two factors, since a single
    // factor may leave the f32 range.
    int exponent = 0;
    std::frexp(largest, &exponent);
    const Float first = hn::Set(d, std::ldexp(1.0f, -exponent / 2));
    const Float second = hn::Set(d, std::ldexp(1.0f, -exponent - (-exponent / 2)));
    Float squares = hn::Zero(d);
    forEachVector(in, width, [&](Float v, int, int) HWY_ATTR {
        const Float scaled = hn::Mul(hn::Mul(v, first), second);
        squares = hn::MulAdd(scaled, scaled, squares);
    });
    const Float inverse = hn::Set(d, 1.0f / std::sqrt(sumOf(squares)));
    forEachVector(in, width, [&](Float v, int i, int count) HWY_ATTR {
        storePart(hn::Mul(hn::Mul(hn::Mul(v, first), second), inverse), out + i, count);
    });
    return true;
}

namespace {

// The number of columns that are normalised together: enough to read a long piece of memory in each channel,
// and few enough that hundreds of channels stay in a level-2 cache for three passes.
constexpr int kColumns = 256;

struct ColumnBlock {
    const float* in;
    size_t stride;
    int depth, count;
};

// Calls body(vector, channel, column, count) for each vector; the first `count` lanes hold columns.
template <class Body>
HWY_INLINE void forEachElement(const ColumnBlock& block, const Body& body) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
    for (int c = 0; c < block.depth; ++c) {
        const float* const plane = block.in + c * block.stride;
        for (int i = 0; i < block.count; i += lanes) {
            const int here = std::min(lanes, block.count - i);
            body(loadPart(plane + i, here), c, i, here);
        }
    }
}

void normaliseBlock(const ColumnBlock& block, const float* weight, const float* bias, const NormRule& rule,
                    float* out) {
    const FloatTag d;
    HWY_ALIGN float mean[kColumns] = {}, inverse[kColumns] = {};
    const float count = static_cast<float>(block.depth);
    if (rule.kind == NormKind::Layer) {
        forEachElement(block, [&](Float v, int, int i, int)
                                  HWY_ATTR { hn::Store(hn::Add(hn::Load(d, mean + i), v), d, mean + i); });
        for (float& sum : mean)
            sum /= count;
    }
    forEachElement(block, [&](Float v, int, int i, int) HWY_ATTR {
        const Float centred = hn::Sub(v, hn::Load(d, mean + i));
        hn::Store(hn::MulAdd(centred, centred, hn::Load(d, inverse + i)), d, inverse + i);
    });
    for (float& squares : inverse)
        squares = 1.0f / std::sqrt(squares / count + rule.epsilon);
    forEachElement(block, [&](Float v, int c, int i, int here) HWY_ATTR {
        const Float unit = hn::Mul(hn::Sub(v, hn::Load(d, mean + i)), hn::Load(d, inverse + i));
        const Float scaled = hn::Mul(unit, hn::Set(d, weight[c]));
        storePart(bias ? hn::Add(scaled, hn::Set(d, bias[c])) : scaled, out + c * block.stride + i, here);
    });
}

}  // namespace

void NormaliseColumns(const float* in, size_t stride, int depth, int count, const float* weight,
                      const float* bias, const NormRule& rule, float* out) {
    for (int first = 0; first < count; first += kColumns) {
        const ColumnBlock block{in + first, stride, depth, std::min(kColumns, count - first)};
        normaliseBlock(block, weight, bias, rule, out + first);
    }
}

// Loads a vector of scores. Scores with a negative mask value, and missing scores, become minus infinity.
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

HWY_EXPORT(NormaliseRow);
HWY_EXPORT(SquaredDistance);
HWY_EXPORT(DotRows);
HWY_EXPORT(AddScaledRow);
HWY_EXPORT(UnitRow);
HWY_EXPORT(NormaliseColumns);
HWY_EXPORT(MaskedSoftmax);

void normaliseRow(const float* in, int width, const float* weight, const float* bias, const NormRule& rule,
                  float* out) {
    HWY_DYNAMIC_DISPATCH(NormaliseRow)(in, width, weight, bias, rule, out);
}

float dotRows(const float* a, const float* b, int width) {
    return HWY_DYNAMIC_DISPATCH(DotRows)(a, b, width);
}

void addScaledRow(float factor, const float* from, int width, float* to) {
    HWY_DYNAMIC_DISPATCH(AddScaledRow)(factor, from, width, to);
}

float squaredDistance(const float* a, const float* b, int width) {
    return HWY_DYNAMIC_DISPATCH(SquaredDistance)(a, b, width);
}

bool unitRow(const float* in, int width, float* out) {
    return HWY_DYNAMIC_DISPATCH(UnitRow)(in, width, out);
}

void normaliseColumns(const float* in, size_t stride, int depth, int count, const float* weight,
                      const float* bias, const NormRule& rule, float* out) {
    HWY_DYNAMIC_DISPATCH(NormaliseColumns)(in, stride, depth, count, weight, bias, rule, out);
}

void maskedSoftmax(const float* scores, const float* mask, int count, float* to) {
    HWY_DYNAMIC_DISPATCH(MaskedSoftmax)(scores, mask, count, to);
}

}  // namespace mpm::kernels
#endif

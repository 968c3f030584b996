#include <algorithm>
#include <cmath>
#include <cstdint>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/centre.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"
#include "mpm_layer/kernels/tokens/screen_operands-inl.h"

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// Rows of words have at most this length, so that |c|^2 + K stays below 2^31: see screenMargin.
constexpr float kWordReach = 45000.0f, kLargestWord = 32767.0f;
constexpr int kMostWords = 1 << 16;
// Of tighter rows f32 holds hardly a difference. Squares of their steps must not vanish.
constexpr float kTightest = 1e-8f;

HWY_INLINE float sumOf(Float v) {
    return hn::GetLane(hn::SumOfLanes(FloatTag(), v));
}

/// body(difference, index, count) over the vectors of unit - mean; lanes that do not exist are zero.
template <class Body>
HWY_INLINE void forEachDifference(const float* unit, const float* mean, int width, const Body& body) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
    int i = 0;
    for (; i + lanes <= width; i += lanes)
        body(hn::Sub(hn::LoadU(FloatTag(), unit + i), hn::LoadU(FloatTag(), mean + i)), i, lanes);
    const int last = width - i;
    if (last > 0) body(hn::Sub(loadPart(unit + i, last), loadPart(mean + i, last)), i, last);
}

/// d as words, and the sum of the squares of what rounding leaves.
HWY_INLINE float roundToWords(const float* unit, const float* mean, int width, float step, float* cells) {
    const FloatTag d;
    const hn::Rebind<std::int16_t, FloatTag> words;
    const Float by = hn::Set(d, 1.0f / step), size = hn::Set(d, step);
    auto* to = reinterpret_cast<std::int16_t*>(cells);
    Float left = hn::Zero(d);
    const int lanes = static_cast<int>(hn::Lanes(d));
    forEachDifference(unit, mean, width, [&](Float v, int i, int count) HWY_ATTR {
        const auto rounded = hn::NearestInt(hn::Mul(v, by));
        const Float rest = hn::NegMulAdd(hn::ConvertTo(d, rounded), size, v);
        left = hn::MulAdd(rest, rest, left);
        if (count == lanes) {
            hn::StoreU(hn::DemoteTo(words, rounded), words, to + i);
        } else {
            HWY_ALIGN std::int16_t last[HWY_MAX_BYTES / sizeof(std::int16_t)];
            hn::Store(hn::DemoteTo(words, rounded), words, last);
            std::copy_n(last, (count + 1) / 2 * 2, to + i);
        }
    });
    return sumOf(left);
}

void CentreCells(const float* unit, const float* mean, int width, bool words, float* cells,
                 CentredRow& result) {
    const FloatTag d;
    Float squares = hn::Zero(d), peak = hn::Zero(d);
    forEachDifference(unit, mean, width, [&](Float v, int, int) HWY_ATTR {
        squares = hn::MulAdd(v, v, squares);
        peak = hn::Max(peak, hn::Abs(v));
    });
    // Sums of f32 are larger or smaller by at most this factor.
    const float slack = 1.0f + static_cast<float>(width + 4) * 0x1p-22f;
    const float norm = std::max(std::sqrt(sumOf(squares)) * slack, kTightest);
    if (words) {
        result.step = std::max(norm / kWordReach, hn::GetLane(hn::MaxOfLanes(d, peak)) / kLargestWord);
        result.error =
            std::sqrt(roundToWords(unit, mean, width, result.step, cells)) * slack * 1.001f / result.step;
    } else {
        result.step = std::ldexp(1.0f, std::ilogb(norm) + 1);
        result.error = 0;
        const Float by = hn::Set(d, 1.0f / result.step);
        forEachDifference(unit, mean, width, [&](Float v, int i, int count) HWY_ATTR {
            storePart(hn::Mul(v, by), cells + i, count);
        });
    }
    result.reach = norm / result.step * 1.001f;
}

bool ScreensWords(int width) {
    return MPM_SCREENS_WORDS != 0 && width <= kMostWords;
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(CentreCells);
HWY_EXPORT(ScreensWords);

bool screensWords(int width) {
    return HWY_DYNAMIC_DISPATCH(ScreensWords)(width);
}

int screenCells(int width, bool words) {
    return words ? (width + 1) / 2 : width;
}

CentredRow centreRow(const float* unit, const float* mean, double meanSquare, int width, bool words,
                     float* cells) {
    CentredRow row{};
    HWY_DYNAMIC_DISPATCH(CentreCells)(unit, mean, width, words, cells, row);
    const double shift = exactDot(mean, unit, width) - meanSquare;
    row.shift = static_cast<float>(shift + kShiftSlack * std::abs(shift));
    return row;
}

float screenMargin(double reach, double error, int width, bool words) {
    const double largest = reach + error;
    // That u - m is rounded, and the rounding of U, are below 2^-21 of the largest product each.
    const double rounding = 0x1p-20 * largest * largest;
    if (words) return static_cast<float>(std::ceil(2 * largest * error + error * error + rounding) + 64);
    return static_cast<float>((width + 8) * 0x1.2p-24 * largest * largest + rounding);
}

}  // namespace mpm::kernels
#endif

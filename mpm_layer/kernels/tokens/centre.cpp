#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/centre.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"
#include "mpm_layer/kernels/tokens/screen_operands-inl.h"

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// The largest length |q| of a row of words. With this length, |q|^2 + K is below 2^31: see screenMargin().
constexpr float kWordReach = 45000.0f, kLargestWord = 32767.0f;
constexpr int kMostWords = 1 << 16;
// The step of a row is at least the row's error h, divided by kWordHaze (words) or kFloatHaze (floats).
constexpr float kWordHaze = 4.0f, kFloatHaze = 1e-5f;
// If a row is nearer to the basis than this distance, the row gets the same step as a row at this distance.
// In f32, these rows hardly differ from the basis, and the square of a smaller step could be 0.
constexpr float kTightest = 1e-8f;
constexpr float kRounding = 0x1p-24f;

HWY_INLINE float sumOf(Float v) {
    return hn::GetLane(hn::SumOfLanes(FloatTag(), v));
}

/// Writes the sum of the lanes of each of four vectors.
HWY_INLINE void sumsOf(Float v0, Float v1, Float v2, Float v3, float (&sums)[kDirections]) {
#if HWY_TARGET == HWY_SCALAR
    sums[0] = sumOf(v0), sums[1] = sumOf(v1), sums[2] = sumOf(v2), sums[3] = sumOf(v3);
#else
    const FloatTag d;
    const hn::FixedTag<float, kDirections> d4;
    // In each 128 bits of `all`, lane i has a part of the sum of vector i.
    const Float even = hn::Add(hn::InterleaveLower(d, v0, v2), hn::InterleaveUpper(d, v0, v2));
    const Float odd = hn::Add(hn::InterleaveLower(d, v1, v3), hn::InterleaveUpper(d, v1, v3));
    const Float all = hn::Add(hn::InterleaveLower(d, even, odd), hn::InterleaveUpper(d, even, odd));
    HWY_ALIGN float parts[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(all, d, parts);
    auto sum = hn::Load(d4, parts);
    for (size_t i = kDirections; i < hn::Lanes(d); i += kDirections)
        sum = hn::Add(sum, hn::Load(d4, parts + i));
    hn::StoreU(sum, d4, sums);
#endif
}

// The number of rows for which centreGroup() runs each step in a loop, so that their square roots overlap.
constexpr int kTogether = 16;

/// Measures of a row's rest e: see screen.hpp.
struct Rest {
    float far, near;   // |u - m|^2, |e|^2
    float peak;        // the largest absolute element of e
    float tilt;        // |B'e|^2 of the computed e
    float norm, haze;  // bounds on |e| and on the error of e
};

/// Returns the sum of squares of a row, and writes the row's products with the directions to `along`.
HWY_INLINE float project(const float* in, const ScreenBasis& basis, int width, float (&along)[kDirections]) {
    const FloatTag d;
    const float* to = basis.directions;
    const size_t next = basis.stride;
    Float squares = hn::Zero(d), s0 = squares, s1 = squares, s2 = squares, s3 = squares;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < width; i += lanes) {
        const Float v = i + lanes <= width ? hn::LoadU(d, in + i) : loadPart(in + i, width - i);
        squares = hn::MulAdd(v, v, squares);
        s0 = hn::MulAdd(v, hn::Load(d, to + i), s0);
        s1 = hn::MulAdd(v, hn::Load(d, to + next + i), s1);
        s2 = hn::MulAdd(v, hn::Load(d, to + 2 * next + i), s2);
        s3 = hn::MulAdd(v, hn::Load(d, to + 3 * next + i), s3);
    }
    sumsOf(s0, s1, s2, s3, along);
    return sumOf(squares);
}

// This file is compiled with -ffp-contract=off, so that in * inverse is rounded before m is subtracted.
/// Computes e: subtracts m and B a from the unit row (in * inverse). Writes whole vectors, with zeros after
/// the last element.
HWY_INLINE void subtract(const float* in, const PlacedRow& placed, const ScreenBasis& basis, int width,
                         float* out, Rest& rest) {
    const FloatTag d;
    const float *origin = basis.origin, *to = basis.directions;
    const size_t next = basis.stride;
    const Float a0 = hn::Set(d, placed.place[0]), a1 = hn::Set(d, placed.place[1]);
    const Float a2 = hn::Set(d, placed.place[2]), a3 = hn::Set(d, placed.place[3]);
    const Float by = hn::Set(d, placed.inverse);
    Float far = hn::Zero(d), near = far, peak = far, s0 = far, s1 = far, s2 = far, s3 = far;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < width; i += lanes) {
        const Float u = hn::Mul(i + lanes <= width ? hn::LoadU(d, in + i) : loadPart(in + i, width - i), by);
        const Float b0 = hn::Load(d, to + i), b1 = hn::Load(d, to + next + i);
        const Float b2 = hn::Load(d, to + 2 * next + i), b3 = hn::Load(d, to + 3 * next + i);
        Float v = hn::Sub(u, hn::Load(d, origin + i));
        far = hn::MulAdd(v, v, far);
        v = hn::NegMulAdd(a3, b3, hn::NegMulAdd(a2, b2, hn::NegMulAdd(a1, b1, hn::NegMulAdd(a0, b0, v))));
        hn::Store(v, d, out + i);
        near = hn::MulAdd(v, v, near);
        peak = hn::Max(peak, hn::Abs(v));
        s0 = hn::MulAdd(v, b0, s0);
        s1 = hn::MulAdd(v, b1, s1);
        s2 = hn::MulAdd(v, b2, s2);
        s3 = hn::MulAdd(v, b3, s3);
    }
    rest.far = sumOf(far);
    rest.near = sumOf(near);
    rest.peak = hn::GetLane(hn::MaxOfLanes(d, peak));
    float tilts[kDirections];
    sumsOf(s0, s1, s2, s3, tilts);
    rest.tilt = 0;
    for (const float tilt : tilts)
        rest.tilt += tilt * tilt;
}

HWY_INLINE PlacedRow placedRow(const float* in, const ScreenBasis& basis, int width, float* room) {
    static_assert(kDirections == 4, "written out: arrays of vectors would be kept in memory");
    // As in unitRow: if squares neither overflow nor vanish, x / |x| needs no scaling.
    constexpr float kLeast = 1e-20f, kMost = 1e20f;
    float along[kDirections];
    const float squares = project(in, basis, width, along);
    PlacedRow placed;
    placed.finite = true;
    placed.zero = false;
    placed.plain = squares >= kLeast && squares <= kMost;
    placed.inverse = placed.plain ? 1.0f / std::sqrt(squares) : 1.0f;
    if (!placed.plain) {
        placed.finite = unitRow(in, width, room);
        if (!placed.finite) std::fill_n(room, width, 0.0f);
        placed.zero = project(room, basis, width, along) == 0;
    }
    for (int l = 0; l < kDirections; ++l)
        placed.place[l] =
            (along[l] * placed.inverse - basis.offsets[l]) * static_cast<float>(0.5 / (1 + 2 * kTilt));
    return placed;
}

void PlaceRows(const TokenRows& rows, int first, int count, const ScreenBasis& basis, PlacedRow* placed) {
    static thread_local Buffer scratch;
    float* room = scratch.reserve(rows.width);
    for (int i = first; i < first + count; ++i)
        placed[i] = placedRow(rows.data + i * rows.stride, basis, rows.width, room);
}

/// Returns a bound on the rounding error of e. Subtracting m rounds, and subtracting each direction rounds.
/// The squared length of a direction is about 2. So subtracting a direction, times the row's place a in
/// this direction, reduces |e|^2 by about 2 a^2.
HWY_INLINE float hazeOf(const PlacedRow& placed, const Rest& rest) {
    float left = rest.far * 1.001f, sum = 0;
    for (int l = 0; l < kDirections; ++l) {
        left -= 1.999f * placed.place[l] * placed.place[l];
        sum += std::max(left, 0.0f) + 0.001f * rest.far;
    }
    // sqrt(x_1) + ... + sqrt(x_n) <= sqrt(n (x_1 + ... + x_n)). Without HWY_NATIVE_FMA, products also round.
    const float distance = std::sqrt(rest.far), fused = distance + std::sqrt(kDirections * sum);
    return 1.01f * kRounding * (fused + (HWY_NATIVE_FMA ? 0 : kDirections * distance));
}

/// Rounds e to words; returns the sum of the squares of the rounding errors.
HWY_INLINE float roundToWords(const float* rest, int width, float step, float* cells) {
    const FloatTag d;
    const hn::Rebind<std::int16_t, FloatTag> words;
    const Float by = hn::Set(d, 1.0f / step), size = hn::Set(d, step);
    auto* to = reinterpret_cast<std::int16_t*>(cells);
    Float left = hn::Zero(d);
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < width; i += lanes) {
        const Float v = hn::Load(d, rest + i);
        const auto rounded = hn::NearestInt(hn::Mul(v, by));
        const Float off = hn::NegMulAdd(hn::ConvertTo(d, rounded), size, v);
        left = hn::MulAdd(off, off, left);
        if (i + lanes <= width) {
            hn::StoreU(hn::DemoteTo(words, rounded), words, to + i);
        } else {
            HWY_ALIGN std::int16_t last[HWY_MAX_BYTES / sizeof(std::int16_t)];
            hn::Store(hn::DemoteTo(words, rounded), words, last);
            std::copy_n(last, (width - i + 1) / 2 * 2, to + i);
        }
    }
    return sumOf(left);
}

HWY_INLINE void scaleRow(const float* rest, int width, float step, float* cells) {
    const FloatTag d;
    const Float by = hn::Set(d, 1.0f / step);
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < width; i += lanes)
        storePart(hn::Mul(hn::Load(d, rest + i), by), cells + i, std::min(lanes, width - i));
}

/// Returns the step of a row; sets norm and haze of `rest`. `off`: the relative error of f32 sums over a row.
HWY_INLINE float chooseStep(const PlacedRow& placed, bool words, float off, Rest& rest) {
    rest.norm = std::sqrt(rest.near) * (1 + off);
    rest.haze = hazeOf(placed, rest) * (1 + off);
    const float reach = std::max(rest.norm, kTightest);
    if (!words) return std::ldexp(1.0f, std::ilogb(std::max(reach, rest.haze / kFloatHaze)) + 1);
    return std::max({reach / kWordReach, rest.peak / kLargestWord, rest.haze / kWordHaze});
}

/// Sets the members of `row` except for the step. `rounded` is the result of roundToWords().
HWY_INLINE void finishRow(const PlacedRow& placed, const Rest& rest, bool words, float off, float rounded,
                          CentredRow& row) {
    const float norm = rest.norm, haze = rest.haze;
    row.error = words ? std::sqrt(rounded) * (1 + off) + 2 * kRounding * norm + haze : haze;
    row.error *= 1.001f / row.step;
    row.reach = norm / row.step * 1.001f;
    row.norm = (norm + haze) * 1.00001f;
    // `tilt` is a bound on |B'e|: the computed length, plus rounding, plus the effect of the error `haze`
    // of e. Directions are shorter than 1.5.
    const float tilt = std::sqrt(rest.tilt) + 3 * off * norm + 1.5f * haze;
    const float shift = -0.5f * rest.near - (placed.zero ? 0.5f : 0.0f);
    // The last term covers the rounding of the sum of two shifts in the bound U (screen.hpp).
    row.slack = 1.0001f * (tilt * tilt * static_cast<float>(1 / kTilt) + norm * haze + haze * haze +
                           norm * norm * 2 * off + std::abs(shift) * 0x1p-21f);
    row.shift = shift + row.slack;
}

struct Group {
    float* rests;
    size_t restStride;
    float* cells;
    size_t stride;
};

HWY_INLINE void centreGroup(const TokenRows& rows, const PlacedRow* all, const int* tokens, int count,
                            const ScreenBasis& basis, bool words, const Group& to, CentredRow* centred) {
    const int width = rows.width;
    // Bounds the relative error of f32 sums: each lane adds its elements one by one and rounds each time.
    const float off = static_cast<float>(width / static_cast<int>(hn::Lanes(FloatTag())) + 9) * kRounding;
    Rest rest[kTogether];
    float rounded[kTogether] = {};
    for (int r = 0; r < count; ++r) {
        const PlacedRow& placed = all[tokens[r]];
        const float* from = rows.data + tokens[r] * rows.stride;
        float* out = to.rests + r * to.restStride;
        if (!placed.plain) {
            if (!unitRow(from, width, out)) std::fill_n(out, width, 0.0f);
            from = out;  // each vector is read before it is written
        }
        subtract(from, placed, basis, width, out, rest[r]);
    }
    for (int r = 0; r < count; ++r)
        centred[r].step = chooseStep(all[tokens[r]], words, off, rest[r]);
    for (int r = 0; r < count; ++r) {
        const float* from = to.rests + r * to.restStride;
        if (words)
            rounded[r] = roundToWords(from, width, centred[r].step, to.cells + r * to.stride);
        else
            scaleRow(from, width, centred[r].step, to.cells + r * to.stride);
    }
    for (int r = 0; r < count; ++r)
        finishRow(all[tokens[r]], rest[r], words, off, rounded[r], centred[r]);
    for (int r = 0; r < count; ++r) {
        if (all[tokens[r]].finite) continue;
        std::fill_n(to.cells + r * to.stride, screenCells(width, words), 0.0f);
        centred[r] = {};
        centred[r].shift = -std::numeric_limits<float>::infinity();
    }
}

void CentreRows(const TokenRows& rows, const PlacedRow* placed, const int* tokens, int count,
                const ScreenBasis& basis, bool words, float* cells, size_t stride, CentredRow* centred) {
    static thread_local Buffer scratch;
    const size_t restStride = paddedStride(rows.width);
    float* rests = scratch.reserve(kTogether * restStride);
    for (int first = 0; first < count; first += kTogether)
        centreGroup(rows, placed, tokens + first, std::min(kTogether, count - first), basis, words,
                    {rests, restStride, cells + first * stride, stride}, centred + first);
}

bool ScreensWords(int width) {
    return MPM_SCREENS_WORDS != 0 && width <= kMostWords;
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(PlaceRows);
HWY_EXPORT(CentreRows);
HWY_EXPORT(ScreensWords);

bool screensWords(int width) {
    return HWY_DYNAMIC_DISPATCH(ScreensWords)(width);
}

void placeRows(const TokenRows& rows, int first, int count, const ScreenBasis& basis, PlacedRow* placed) {
    HWY_DYNAMIC_DISPATCH(PlaceRows)(rows, first, count, basis, placed);
}

void centreRows(const TokenRows& rows, const PlacedRow* placed, const int* tokens, int count,
                const ScreenBasis& basis, bool words, float* cells, size_t stride, CentredRow* centred) {
    HWY_DYNAMIC_DISPATCH(CentreRows)(rows, placed, tokens, count, basis, words, cells, stride, centred);
}

float screenMargin(double reach, double error, int width, bool words) {
    const double largest = reach + error;
    const double all = 2 * largest * error + error * error + 0x1p-20 * largest * largest;
    if (words) return static_cast<float>(std::ceil(all) + 64);
    return static_cast<float>(all + (width + 8) * 0x1.2p-24 * largest * largest);
}

}  // namespace mpm::kernels
#endif

#include "mpm_layer/kernels/product/winograd.hpp"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/product/winograd.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

constexpr float kNear = 0.70710678118654752f, kFar = 1.4142135623730951f;  // interpolation points

/// Transforms six inputs along an axis into factors.
HWY_INLINE void toFactors(const Float (&x)[6], Float (&y)[6]) {
    const FloatTag d;
    const Float half = hn::Set(d, .5f), two = hn::Set(d, 2.f), middle = hn::Set(d, 2.5f),
                near = hn::Set(d, kNear), far = hn::Set(d, kFar);
    const Float nearEven = hn::NegMulAdd(two, x[2], x[4]), nearOdd = hn::NegMulAdd(two, x[1], x[3]);
    const Float farEven = hn::NegMulAdd(half, x[2], x[4]), farOdd = hn::NegMulAdd(half, x[1], x[3]);
    y[0] = hn::NegMulAdd(middle, x[2], hn::Add(x[0], x[4]));
    y[1] = hn::MulAdd(near, nearOdd, nearEven);
    y[2] = hn::NegMulAdd(near, nearOdd, nearEven);
    y[3] = hn::MulAdd(far, farOdd, farEven);
    y[4] = hn::NegMulAdd(far, farOdd, farEven);
    y[5] = hn::NegMulAdd(middle, x[3], hn::Add(x[1], x[5]));
}

/// Transforms six sums along an axis into outputs.
HWY_INLINE void toOutputs(const Float (&x)[6], Float (&y)[4]) {
    const FloatTag d;
    const Float half = hn::Set(d, .5f), two = hn::Set(d, 2.f), near = hn::Set(d, kNear),
                far = hn::Set(d, kFar);
    const Float nearSum = hn::Add(x[1], x[2]), farSum = hn::Add(x[3], x[4]);
    const Float nearOdd = hn::Mul(near, hn::Sub(x[1], x[2])), farOdd = hn::Mul(far, hn::Sub(x[3], x[4]));
    y[0] = hn::Add(x[0], hn::Add(nearSum, farSum));
    y[1] = hn::Add(nearOdd, farOdd);
    y[2] = hn::MulAdd(two, farSum, hn::Mul(half, nearSum));
    y[3] = hn::Add(x[5], hn::MulAdd(two, farOdd, hn::Mul(half, nearOdd)));
}

bool WinogradInput(const float* const (&rows)[6], int tiles, float limit, float* scratch, float* factors,
                   size_t stride) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const int width = kWinogradTile * (tiles - 1) + kWinogradInput;  // fits: a row of the image
    const size_t rowStride = winogradScratch(tiles) / kWinogradInput;
    const Float most = hn::Set(d, limit);
    auto within = hn::FirstN(d, lanes);
    Float x[6], y[6];
    for (int k = 0; k < width; k += lanes) {
        auto here = within;
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) {
            x[i] = hn::LoadU(d, rows[i] + k);
            here = hn::And(here, hn::Le(hn::Abs(x[i]), most));
        }
        within = width - k < lanes ? hn::And(within, hn::Or(here, hn::Not(hn::FirstN(d, width - k)))) : here;
        toFactors(x, y);
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i)
            hn::StoreU(y[i], d, scratch + i * rowStride + k);
    }
    for (int i = 0; i < 6; ++i, scratch += rowStride) {
        for (int t = 0; t < tiles; t += lanes) {
            Float third, fourth;  // columns of the next tile that this tile does not use
            hn::LoadInterleaved4(d, scratch + kWinogradTile * t, x[0], x[1], x[2], x[3]);
            hn::LoadInterleaved4(d, scratch + kWinogradTile * (t + 1), x[4], x[5], third, fourth);
            toFactors(x, y);
#pragma GCC unroll 6
            for (int j = 0; j < 6; ++j)
                hn::StoreU(y[j], d, factors + (6 * i + j) * stride + t);
        }
    }
    return hn::AllTrue(d, within);
}

void WinogradOutput(const float* sums, size_t stride, int tiles, float bias, float* rows, size_t rowStride) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const Float more = hn::Set(d, bias);
    for (int t = 0; t < tiles; t += lanes) {
        Float columns[4][6], x[6], y[4];
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) {
#pragma GCC unroll 6
            for (int i = 0; i < 6; ++i)
                x[i] = hn::LoadU(d, sums + (6 * i + j) * stride + t);
            toOutputs(x, y);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i)
                columns[i][j] = y[i];
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            toOutputs(columns[i], y);
            hn::StoreInterleaved4(hn::Add(y[0], more), hn::Add(y[1], more), hn::Add(y[2], more),
                                  hn::Add(y[3], more), d, rows + i * rowStride + kWinogradTile * t);
        }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(WinogradInput);
HWY_EXPORT(WinogradOutput);

void winogradKernel(const float (&kernel)[9], float (&factors)[kWinogradProducts]) {
    const double near = std::sqrt(.5), far = std::sqrt(2.);
    const double by[6][3] = {{1, 0, 0},
                             {-2. / 3, -2. / 3 * near, -1. / 3},
                             {-2. / 3, 2. / 3 * near, -1. / 3},
                             {1. / 6, far / 6, 1. / 3},
                             {1. / 6, -far / 6, 1. / 3},
                             {0, 0, 1}};
    for (int i = 0; i < 6; ++i) {
        double row[3];
        for (int k = 0; k < 3; ++k)
            row[k] = by[i][0] * kernel[k] + by[i][1] * kernel[3 + k] + by[i][2] * kernel[6 + k];
        for (int j = 0; j < 6; ++j)
            factors[6 * i + j] =
                static_cast<float>(by[j][0] * row[0] + by[j][1] * row[1] + by[j][2] * row[2]);
    }
}

bool winogradInput(const float* const (&rows)[kWinogradInput], int tiles, float limit, float* scratch,
                   float* factors, size_t stride) {
    return HWY_DYNAMIC_DISPATCH(WinogradInput)(rows, tiles, limit, scratch, factors, stride);
}

void winogradOutput(const float* sums, size_t stride, int tiles, float bias, float* rows, size_t rowStride) {
    HWY_DYNAMIC_DISPATCH(WinogradOutput)(sums, stride, tiles, bias, rows, rowStride);
}

}  // namespace mpm::kernels
#endif

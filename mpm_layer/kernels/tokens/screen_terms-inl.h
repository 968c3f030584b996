// The bounds U and F of kernels/tokens/screen.hpp, for a row and a vector of columns.

#if defined(MPM_KERNELS_SCREEN_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_SCREEN_TERMS_INL_H_
#undef MPM_KERNELS_SCREEN_TERMS_INL_H_
#else
#define MPM_KERNELS_SCREEN_TERMS_INL_H_
#endif

#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"
#include "mpm_layer/kernels/tokens/screen.hpp"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

struct ColumnTerms {
    Float step, shift, norm, place[kDirections];

    HWY_INLINE ColumnTerms(const Screen& screen, size_t column) {
        const FloatTag d;
        step = hn::LoadU(d, screen.steps + column);
        shift = hn::LoadU(d, screen.shifts + column);
        norm = hn::LoadU(d, screen.norms + column);
#pragma GCC unroll 4
        for (int l = 0; l < kDirections; ++l)
            place[l] = hn::LoadU(d, screen.places + l * screen.apart + column);
    }
};

struct RowTerms {
    float step, shift, norm, place[kDirections];

    HWY_INLINE RowTerms(const Screen& screen, int row)
        : step(screen.steps[row]), shift(screen.shifts[row]), norm(screen.norms[row]) {
#pragma GCC unroll 4
        for (int l = 0; l < kDirections; ++l)
            place[l] = screen.places[l * screen.apart + row];
    }

    /// Returns U without the last term, which contains the product q_i.q_j.
    HWY_INLINE Float apart(const ColumnTerms& columns) const {
        const FloatTag d;
        Float sum = hn::Add(hn::Set(d, shift), columns.shift);
#pragma GCC unroll 4
        for (int l = 0; l < kDirections; ++l) {
            const Float away = hn::Sub(hn::Set(d, place[l]), columns.place[l]);
            sum = hn::NegMulAdd(away, away, sum);
        }
        return sum;
    }

    HWY_INLINE Float upper(Float sums, const ColumnTerms& columns) const {
        return hn::MulAdd(sums, hn::Mul(hn::Set(FloatTag(), step), columns.step), apart(columns));
    }

    /// Returns F, an upper bound that needs no product.
    HWY_INLINE Float farUpper(const ColumnTerms& columns) const {
        return hn::MulAdd(hn::Set(FloatTag(), norm), columns.norm, apart(columns));
    }
};

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

// The columns of a panel of similarities. kNever is the value of missing columns: lower than any similarity.

#if defined(MPM_KERNELS_PANEL_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_PANEL_COLUMNS_INL_H_
#undef MPM_KERNELS_PANEL_COLUMNS_INL_H_
#else
#define MPM_KERNELS_PANEL_COLUMNS_INL_H_
#endif

#include <limits>

#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

using IndexTag = hn::RebindToSigned<FloatTag>;
using Index = hn::Vec<IndexTag>;

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// The numbers of a panel's columns, as two vectors. Column `limit` and all later columns are missing.
struct Columns {
    Index left, right;
    bool whole;
    int first, limit;

    HWY_INLINE Columns(int first, int limit) : first(first), limit(limit) {
        const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
        left = hn::Iota(IndexTag(), first);
        right = hn::Iota(IndexTag(), first + lanes);
        whole = first + 2 * lanes <= limit;
    }
};

/// Keeps the values of columns after `last` and before `limit`. All other values become kNever.
HWY_INLINE Float between(Float v, Index column, int last, int limit) {
    const FloatTag d;
    const IndexTag di;
    const auto counts = hn::And(hn::Gt(column, hn::Set(di, last)), hn::Lt(column, hn::Set(di, limit)));
    return hn::IfThenElse(hn::RebindMask(d, counts), v, hn::Set(d, kNever));
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

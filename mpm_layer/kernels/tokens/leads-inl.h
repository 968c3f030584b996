// The leads of a vector of rows: see leads.hpp.

#if defined(MPM_KERNELS_LEADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_LEADS_INL_H_
#undef MPM_KERNELS_LEADS_INL_H_
#else
#define MPM_KERNELS_LEADS_INL_H_
#endif

#include <hwy/highway.h>

#include "mpm_layer/kernels/tokens/leads.hpp"
#include "mpm_layer/kernels/tokens/panel_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

struct LeadVectors {
    Float value, second, rest;
    Index index, secondIndex;

    HWY_INLINE LeadVectors(const Leads& leads, size_t row) {
        const FloatTag d;
        const IndexTag di;
        value = hn::LoadU(d, leads.value + row);
        second = hn::LoadU(d, leads.second + row);
        rest = hn::LoadU(d, leads.rest + row);
        index = hn::LoadU(di, leads.index + row);
        secondIndex = hn::LoadU(di, leads.secondIndex + row);
    }

    HWY_INLINE void store(Leads& leads, size_t row) const {
        const FloatTag d;
        const IndexTag di;
        hn::StoreU(value, d, leads.value + row);
        hn::StoreU(second, d, leads.second + row);
        hn::StoreU(rest, d, leads.rest + row);
        hn::StoreU(index, di, leads.index + row);
        hn::StoreU(secondIndex, di, leads.secondIndex + row);
    }

    HWY_INLINE void keep(Float its, Index where) {
        const auto first = hn::RebindMask(IndexTag(), hn::Gt(its, value));
        const auto other = hn::RebindMask(IndexTag(), hn::Gt(its, second));
        rest = hn::Max(rest, hn::Min(its, second));
        secondIndex = hn::IfThenElse(first, index, hn::IfThenElse(other, where, secondIndex));
        second = hn::Max(second, hn::Min(its, value));
        index = hn::IfThenElse(first, where, index);
        value = hn::Max(value, its);
    }

    /// Raises `rest` to a value whose column is not kept, if that value is higher.
    HWY_INLINE void keepRest(Float its) { rest = hn::Max(rest, its); }

    HWY_INLINE void keep(const LeadVectors& other) {
        keep(other.value, other.index);
        keep(other.second, other.secondIndex);
        keepRest(other.rest);
    }
};

/// Merges the leads of rows fromFirst..fromFirst+count into the leads of rows first..first+count.
HWY_INLINE void keepLeads(const Leads& from, int fromFirst, Leads& to, int first, int count) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
    for (int r = 0; r < count; r += lanes) {
        LeadVectors own(to, first + r);
        own.keep(LeadVectors(from, fromFirst + r));
        own.store(to, first + r);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

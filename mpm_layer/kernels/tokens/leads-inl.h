// Leads (see leads.hpp) in vectors: the leads of a vector of rows, and separate leads for each lane.

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

    /// Raises `rest` to the given value if the value is higher. The column of the value is not kept.
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

/// Separate leads for each lane. In memory, value, index and second are `apart` elements apart.
struct LaneLeads {
    Float value, second;
    Index index;

    HWY_INLINE LaneLeads() : value(hn::Set(FloatTag(), kNever)), second(value), index(hn::Zero(IndexTag())) {}

    HWY_INLINE explicit LaneLeads(const float* from, size_t apart)
        : value(hn::Load(FloatTag(), from)),
          second(hn::Load(FloatTag(), from + 2 * apart)),
          index(hn::Load(IndexTag(), reinterpret_cast<const int*>(from + apart))) {}

    HWY_INLINE void keep(Float its, Index where) {
        second = hn::Max(second, hn::Min(its, value));
        const auto larger = hn::Gt(its, value);
        index = hn::IfThenElse(hn::RebindMask(IndexTag(), larger), where, index);
        value = hn::IfThenElse(larger, its, value);
    }

    HWY_INLINE void keepBoth(Float left, Float right, const Columns& columns) {
        const auto fromRight = hn::RebindMask(IndexTag(), hn::Gt(right, left));
        second = hn::Max(second, hn::Min(left, right));
        keep(hn::Max(left, right), hn::IfThenElse(fromRight, columns.right, columns.left));
    }

    HWY_INLINE void keepIn(Leads& leads, size_t first) const {
        LeadVectors all(leads, first);
        all.keep(value, index);
        all.keepRest(second);
        all.store(leads, first);
    }

    HWY_INLINE void store(float* to, size_t apart) const {
        hn::Store(value, FloatTag(), to);
        hn::Store(index, IndexTag(), reinterpret_cast<int*>(to + apart));
        hn::Store(second, FloatTag(), to + 2 * apart);
    }
};

HWY_INLINE void forget(float* leads, size_t cells) {
    std::fill(leads, leads + cells, kNever);
    std::fill(leads + 2 * cells, leads + 3 * cells, kNever);
}

/// Removes the best lane of a row. Returns the value of this lane, and sets `index` to the lane's column.
HWY_INLINE float takeBest(Float& value, const int* indices, int& index) {
    const FloatTag d;
    const Float best = hn::MaxOfLanes(d, value);
    const auto lane = static_cast<int>(hn::FindKnownFirstTrue(d, hn::Eq(value, best)));
    const auto taken = hn::Eq(hn::Iota(IndexTag(), 0), hn::Set(IndexTag(), lane));
    value = hn::IfThenElse(hn::RebindMask(d, taken), hn::Set(d, kNever), value);
    index = indices[lane];
    return hn::GetLane(best);
}

/// For each row of first..first+rows, merges the leads of all lanes into the row's leads.
HWY_INLINE void keepRows(const float* rowLeads, int rows, size_t apart, Leads& leads, int first) {
    const FloatTag d;
    const size_t lanes = hn::Lanes(d);
    Leads found(rows);
    for (int r = 0; r < rows; ++r, rowLeads += lanes) {
        const auto* indices = reinterpret_cast<const int*>(rowLeads + apart);
        Float values = hn::Load(d, rowLeads);
        found.value[r] = takeBest(values, indices, found.index[r]);
        found.second[r] = takeBest(values, indices, found.secondIndex[r]);
        const Float others = hn::Max(values, hn::Load(d, rowLeads + 2 * apart));
        found.rest[r] = hn::GetLane(hn::MaxOfLanes(d, others));
    }
    keepLeads(found, 0, leads, first, rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif

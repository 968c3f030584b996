// Leads and bars of rows, and extents of groups of rows: see screen.hpp.
#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/bars.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/product/microkernel-inl.h"
#include "mpm_layer/kernels/tokens/leads-inl.h"
#include "mpm_layer/kernels/tokens/screen_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// Returns the bars of a vector of rows: the value of each row's lead, minus the largest error of this
/// value. Adds 2 % to this error, to cover the rounding of its sum in f32.
HWY_INLINE Float barsOf(const Screen& screen, const LeadVectors& leads, size_t row) {
    const FloatTag d;
    const Index other = hn::Max(leads.index, hn::Zero(IndexTag()));
    Float away = hn::Zero(d);
    for (int l = 0; l < kDirections; ++l) {
        const float* places = screen.places + l * screen.apart;
        const Float by = hn::Sub(hn::LoadU(d, places + row), hn::GatherIndex(d, places, other));
        away = hn::MulAdd(by, by, away);
    }
    const Float steps = hn::Mul(hn::LoadU(d, screen.steps + row), hn::GatherIndex(d, screen.steps, other));
    const Float slacks = hn::Add(hn::LoadU(d, screen.slacks + row), hn::GatherIndex(d, screen.slacks, other));
    Float above = hn::Mul(hn::Set(d, 2 * screen.margin), steps);
    above = hn::MulAdd(hn::Set(d, 3.0f), slacks, above);
    above = hn::MulAdd(hn::Set(d, static_cast<float>(5 * kTilt)), away, above);
    // `exact` covers the error of cosines in f64, and the lengths of unit rows, which are not exactly 1.
    const double unit = (screen.width + 16) * 0x1p-24, exact = unit * 0x1p-25 + unit * unit;
    above = hn::MulAdd(above, hn::Set(d, 1.02f), hn::Set(d, static_cast<float>(1.01 * exact)));
    const Float bar = hn::Sub(leads.value, above);
    return hn::NegMulAdd(hn::Abs(bar), hn::Set(d, 0x1p-22f), bar);
}

void SetBars(const Screen& screen, const Leads& leads, int first, float* bars) {
    const FloatTag d;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const size_t lanes = hn::Lanes(d), from = first;
    for (size_t row = from; row < from + panelWidth(); row += lanes) {
        const LeadVectors own(leads, row);
        const auto none = hn::RebindMask(d, hn::Lt(own.index, hn::Zero(IndexTag())));
        const auto noRow = hn::Eq(hn::LoadU(d, screen.shifts + row), hn::Set(d, -kInfinity));
        const Float bar = hn::IfThenElse(none, hn::Set(d, -kInfinity), barsOf(screen, own, row));
        hn::StoreU(hn::IfThenElse(noRow, hn::Set(d, kInfinity), bar), d, bars + row);
    }
}

void MergeLeads(const Leads& from, int first, Leads& to) {
    keepLeads(from, first, to, first, to.count() - first);
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(SetBars);
HWY_EXPORT(MergeLeads);

void setBars(const Screen& screen, const Leads& leads, int first, float* bars) {
    HWY_DYNAMIC_DISPATCH(SetBars)(screen, leads, first, bars);
}

Extent extentOf(const Screen& screen, const float* least, int first, int rows) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    Extent extent{kNone, -kNone, -kNone, kNone};
    for (int i = first; i < first + rows; ++i) {
        const double place = screen.places[i], norm = screen.norms[i];
        extent.low = std::min(extent.low, place);
        extent.high = std::max(extent.high, place);
        extent.most = std::max(extent.most, screen.shifts[i] + norm * norm / 2);
        extent.least = std::min<double>(extent.least, least[i]);
    }
    return extent;
}

bool Extent::isFarFrom(const Extent& other) const {
    const double gap = std::max({0.0, low - other.high, other.low - high});
    return most + other.most - gap * gap < std::min(least, other.least);
}

// The number of elements after the last row. Code writes whole panels, and a vector may begin at any row.
constexpr size_t kTail = 2 * kAlignment / sizeof(float);

Leads::Leads(int count) : m_count(count) {
    const size_t apart = static_cast<size_t>(count) + kTail;
    value = m_data.reserve(5 * apart);
    second = value + apart;
    rest = second + apart;
    index = reinterpret_cast<int*>(rest + apart);
    secondIndex = index + apart;
    std::fill(value, value + 3 * apart, -std::numeric_limits<float>::infinity());
    std::fill(index, index + 2 * apart, -1);
}

void Leads::merge(const Leads& other, int first) {
    HWY_DYNAMIC_DISPATCH(MergeLeads)(other, first, *this);
}

}  // namespace mpm::kernels
#endif

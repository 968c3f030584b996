#include "mpm_layer/kernels/tokens/leads.hpp"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/leads.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/tokens/leads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

void MergeLeads(const Leads& from, int first, Leads& to) {
    keepLeads(from, first, to, first, to.count() - first);
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(MergeLeads);

// Whole panels of columns are written, and vectors from any row on.
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

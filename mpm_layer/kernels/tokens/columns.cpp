#include "mpm_layer/kernels/tokens/rows.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/columns.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {
namespace {

// Columns at once: long enough runs of each plane, and few enough that hundreds of channels stay in a
// level-2 cache for three passes.
constexpr int kColumns = 256;

struct ColumnBlock {
    const float* in;
    size_t stride;
    int depth, count;
};

// body(vector, channel, column, lanes that exist)
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

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(NormaliseColumns);

void normaliseColumns(const float* in, size_t stride, int depth, int count, const float* weight,
                      const float* bias, const NormRule& rule, float* out) {
    HWY_DYNAMIC_DISPATCH(NormaliseColumns)(in, stride, depth, count, weight, bias, rule, out);
}

}  // namespace mpm::kernels
#endif

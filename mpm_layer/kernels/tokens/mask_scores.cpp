#include "mpm_layer/kernels/tokens/upsample.hpp"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/mask_scores.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/functions-inl.h"
#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// If x is NaN, the comparison fails and selects the bound: a sigmoid of 0.
HWY_INLINE Float sigmoidOf(Float x) {
    const FloatTag d;
    const Float exponent = hn::Mul(x, hn::Set(d, -1.44269504f)), most = hn::Set(d, 126.0f);
    const Float bounded = hn::IfThenElse(hn::Lt(exponent, most), exponent, most);
    const Float one = hn::Set(d, 1.0f);
    return hn::Div(one, hn::Add(one, exp2(bounded)));
}

// Blending two infinities of the same sign would give NaN, so a single row is not blended.
template <bool kBlends>
void packRows(const float* low, const float* high, size_t stride, float weight, PackedWeights& to) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d)), width = panelColumns();
    const Float part = hn::Set(d, weight);
    for (int first = 0, p = 0; first < to.columns(); first += width, ++p) {
        float* out = to.panel(p);
        for (int k = 0; k < to.depth(); ++k, out += width) {
            const float* a = low + k * stride + first;
            const float* b = high + k * stride + first;
            for (int i = 0; i < width; i += lanes) {
                const int count = std::min(lanes, to.columns() - first - i);
                Float x = count > 0 ? loadPart(a + i, count) : hn::Zero(d);
                if (kBlends && count > 0) {
                    const Float other = loadPart(b + i, count);  // may be the same infinity
                    x = hn::IfThenElse(hn::Eq(x, other), x, hn::MulAdd(part, hn::Sub(other, x), x));
                }
                hn::StoreU(sigmoidOf(x), d, out + i);
            }
        }
    }
}

void PackSigmoid(const float* low, const float* high, size_t stride, float weight, PackedWeights& to) {
    if (weight == 0.0f || low == high) {
        packRows<false>(low, low, stride, 0.0f, to);
    } else {
        packRows<true>(low, high, stride, weight, to);
    }
}

// Vectors side by side: each is a chain of compare and select, and the chains overlap.
constexpr int kAbreast = 4;

void ArgmaxRows(const float* rows, size_t stride, int count, int columns, int* labels, float* best) {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    const int lanes = static_cast<int>(hn::Lanes(d));
    HWY_ALIGN int part[HWY_MAX_BYTES / sizeof(int)];
    for (int first = 0; first < columns; first += kAbreast * lanes) {
        Float value[kAbreast];
        hn::Vec<decltype(di)> label[kAbreast];
        int present[kAbreast];
        for (int v = 0; v < kAbreast; ++v) {
            present[v] = std::clamp(columns - first - v * lanes, 0, lanes);
            value[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
            label[v] = hn::Zero(di);
        }
        for (int r = 0; r < count; ++r) {
            const auto mine = hn::Set(di, r);
            for (int v = 0; v < kAbreast && present[v] > 0; ++v) {
                const Float x = loadPart(rows + r * stride + first + v * lanes, present[v]);
                const auto wins = hn::Gt(x, value[v]);
                value[v] = hn::IfThenElse(wins, x, value[v]);
                label[v] = hn::IfThenElse(hn::RebindMask(di, wins), mine, label[v]);
            }
        }
        for (int v = 0; v < kAbreast && present[v] > 0; ++v) {
            hn::Store(label[v], di, part);
            std::copy_n(part, present[v], labels + first + v * lanes);
            storePart(value[v], best + first + v * lanes, present[v]);
        }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(PackSigmoid);
HWY_EXPORT(ArgmaxRows);

void packSigmoid(const float* low, const float* high, size_t stride, float weight, PackedWeights& to) {
    HWY_DYNAMIC_DISPATCH(PackSigmoid)(low, high, stride, weight, to);
}

void argmaxRows(const float* rows, size_t stride, int count, int columns, int* labels, float* best) {
    HWY_DYNAMIC_DISPATCH(ArgmaxRows)(rows, stride, count, columns, labels, best);
}

}  // namespace mpm::kernels
#endif  // HWY_ONCE

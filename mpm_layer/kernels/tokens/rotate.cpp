#include <algorithm>

#include "mpm_layer/kernels/tokens/rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/rotate.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// The values of some pairs of channels. Missing pairs are zero.
struct Pairs {
    HWY_INLINE Pairs(const float* from, int pairs) {
        const FloatTag d;
        HWY_ALIGN float part[2 * HWY_MAX_BYTES / sizeof(float)] = {};
        if (pairs < static_cast<int>(hn::Lanes(d))) from = std::copy_n(from, 2 * pairs, part) - 2 * pairs;
        hn::LoadInterleaved2(d, from, left, right);
    }
    HWY_INLINE void store(float* to, int pairs) const {
        const FloatTag d;
        if (pairs >= static_cast<int>(hn::Lanes(d))) return hn::StoreInterleaved2(left, right, d, to);
        HWY_ALIGN float part[2 * HWY_MAX_BYTES / sizeof(float)];
        hn::StoreInterleaved2(left, right, d, part);
        std::copy_n(part, 2 * pairs, to);
    }

    Float left, right;
};

// The last pairs have no scalar loop, because GCC 12 would fuse products and sums there and change the bits.
void RotateInterleaved(float* head, const float* cosine, const float* sine, int size) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
    for (int i = 0; i + 1 < size; i += 2 * lanes) {
        const int count = (size - i) / 2;
        Pairs v(head + i, count);
        const Pairs c(cosine + i, count), s(sine + i, count);
        const Float right = hn::Add(hn::Mul(v.right, c.right), hn::Mul(v.left, s.right));
        v.left = hn::Sub(hn::Mul(v.left, c.left), hn::Mul(v.right, s.left));
        v.right = right;
        v.store(head + i, count);
    }
}

HWY_INLINE Float product(Float v, const float* factors, int count) {
    return hn::Mul(v, loadPart(factors, count));
}

void RotateHalves(float* head, const float* cosine, const float* sine, int size) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag())), half = size / 2;
    for (int i = 0; i < half; i += lanes) {
        const int j = half + i, count = std::min(lanes, half - i);
        const Float a = loadPart(head + i, count), b = loadPart(head + j, count);
        storePart(hn::Sub(product(a, cosine + i, count), product(b, sine + i, count)), head + i, count);
        storePart(hn::Add(product(b, cosine + j, count), product(a, sine + j, count)), head + j, count);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(RotateInterleaved);
HWY_EXPORT(RotateHalves);

void rotateInterleaved(float* head, const float* cosine, const float* sine, int size) {
    HWY_DYNAMIC_DISPATCH(RotateInterleaved)(head, cosine, sine, size);
}

void rotateHalves(float* head, const float* cosine, const float* sine, int size) {
    HWY_DYNAMIC_DISPATCH(RotateHalves)(head, cosine, sine, size);
}

}  // namespace mpm::kernels
#endif

// Means of rows in f64.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "mpm_layer/kernels/tokens/rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/means.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

constexpr int kTogether = 16;

// Calls body(first, count) for each part of a row. All parts except the last have kTogether elements: a
// constant, so that the compiler can use vectors. All instruction sets give the same bits, because products
// of two floats are exact in f64.
template <class Body>
HWY_INLINE void forEachPart(int width, const Body& body) {
    int first = 0;
    for (; first + kTogether <= width; first += kTogether)
        body(first, std::integral_constant<int, kTogether>());
    if (first < width) body(first, width - first);
}

void MeanOverHeads(const float* from, int heads, int size, float* to) {
    const double share = 1.0 / heads;
    forEachPart(size, [&](int first, auto count) HWY_ATTR {
        double sums[kTogether] = {};
        for (int h = 0; h < heads; ++h)
            for (int k = 0; k < count; ++k)
                sums[k] += from[h * size + first + k];
        for (int k = 0; k < count; ++k)
            to[first + k] = static_cast<float>(sums[k] * share);
    });
}

void MeanRow(const float* rows, size_t stride, const int* indices, int members, int width, float* out) {
    const float* first = rows + indices[0] * stride;
    if (members == 1) {
        std::copy_n(first, width, out);
        return;
    }
    if (members == 2) {
        const float* second = rows + indices[1] * stride;
        forEachPart(width, [&](int from, auto count) HWY_ATTR {
            for (int k = from; k < from + count; ++k)
                out[k] = static_cast<float>((static_cast<double>(first[k]) + second[k]) * 0.5);
        });
        return;
    }
    forEachPart(width, [&](int from, auto count) HWY_ATTR {
        double sums[kTogether] = {};
        for (int k = 0; k < count; ++k)
            sums[k] = first[from + k];  // a start at 0 would lose negative zeros
        for (int m = 1; m < members; ++m)
            for (int k = 0; k < count; ++k)
                sums[k] += rows[indices[m] * stride + from + k];
        for (int k = 0; k < count; ++k)
            out[from + k] = static_cast<float>(sums[k] / members);
    });
}

void WeightedMeanRow(const float* rows, size_t stride, const int* indices, const float* weights, int members,
                     int width, float* out) {
    double total = 0;
    for (int m = 0; m < members; ++m)
        total += weights[m];
    forEachPart(width, [&](int first, auto count) HWY_ATTR {
        double sums[kTogether] = {};
        for (int k = 0; k < count; ++k)
            sums[k] = static_cast<double>(weights[0]) * rows[indices[0] * stride + first + k];
        for (int m = 1; m < members; ++m)
            for (int k = 0; k < count; ++k)
                sums[k] += static_cast<double>(weights[m]) * rows[indices[m] * stride + first + k];
        for (int k = 0; k < count; ++k)
            out[first + k] = static_cast<float>(sums[k] / total);
    });
}

double RowLength(const float* row, int width) {
    double sums[kTogether] = {};
    forEachPart(width, [&](int first, auto count) HWY_ATTR {
        for (int k = 0; k < count; ++k)
            sums[k] += static_cast<double>(row[first + k]) * row[first + k];
    });
    double sum = 0;
    for (double part : sums)
        sum += part;
    return std::sqrt(sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(MeanOverHeads);
HWY_EXPORT(MeanRow);
HWY_EXPORT(WeightedMeanRow);
HWY_EXPORT(RowLength);

void meanRow(const float* rows, size_t stride, const int* indices, int count, int width, float* out) {
    HWY_DYNAMIC_DISPATCH(MeanRow)(rows, stride, indices, count, width, out);
}

void weightedMeanRow(const float* rows, size_t stride, const int* indices, const float* weights, int count,
                     int width, float* out) {
    HWY_DYNAMIC_DISPATCH(WeightedMeanRow)(rows, stride, indices, weights, count, width, out);
}

double rowLength(const float* row, int width) {
    return HWY_DYNAMIC_DISPATCH(RowLength)(row, width);
}

void meanOverHeads(const float* from, int heads, int size, float* to) {
    HWY_DYNAMIC_DISPATCH(MeanOverHeads)(from, heads, size, to);
}

}  // namespace mpm::kernels
#endif

// Operations on single rows between the products: norms, rotation, normalising for similarities.
#pragma once

#include <cstddef>

#include "base/norm_rule.hpp"

namespace mpm::kernels {

/// Normalises a row; weight and bias may be null. `in` and `out` may be the same.
void normaliseRow(const float* in, int width, const float* weight, const float* bias, const NormRule& rule,
                  float* out);

/// Computes x / |x| without overflow or underflow anywhere in the f32 range. A zero row stays zero. Returns
/// false if an element is NaN or infinite; `out` is then undefined.
bool unitRow(const float* in, int width, float* out);

/// Computes the mean of `count` rows (indices into `rows`). Sums are in f64: no overflow, no underflow. The
/// mean of equal rows is that row, to the bit.
void meanRow(const float* rows, size_t stride, const int* indices, int count, int width, float* out);

/// The same, weighted by `weights` of the members.
void weightedMeanRow(const float* rows, size_t stride, const int* indices, const float* weights, int count,
                     int width, float* out);

float dotRows(const float* a, const float* b, int width);
/// to += factor * from
void addScaledRow(float factor, const float* from, int width, float* to);

/// Sum of (a - b)^2; `b` may be null: zeros.
float squaredDistance(const float* a, const float* b, int width);

/// Rotates pairs of a head in place: x * cos + rotate(x) * sin.
void rotateInterleaved(float* head, const float* cosine, const float* sine, int size);
void rotateHalves(float* head, const float* cosine, const float* sine, int size);

/// Normalises `count` columns of in[channel * stride + column] over their `depth` channels; weight and bias
/// are per channel, the bias may be null. `out` is laid out like `in`.
void normaliseColumns(const float* in, size_t stride, int depth, int count, const float* weight,
                      const float* bias, const NormRule& rule, float* out);

/// Computes the softmax of `count` scores, at least 1. A score with a negative mask gets 0, unless all masks
/// are negative. Without a mask, all scores count. A mask that is NaN is not negative. `to` may be `scores`.
void maskedSoftmax(const float* scores, const float* mask, int count, float* to);

}  // namespace mpm::kernels

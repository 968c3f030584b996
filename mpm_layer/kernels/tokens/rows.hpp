// Operations on single rows: norms, unit rows, means, rotary positions, softmax.
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

/// Computes the mean of the `count` rows whose numbers are in `indices`. Sums are in f64, so they neither
/// overflow nor underflow. If all rows are equal, the mean has the same bits as the rows.
void meanRow(const float* rows, size_t stride, const int* indices, int count, int width, float* out);

/// Like meanRow(), but computes the weighted mean: weights[i] belongs to row indices[i].
void weightedMeanRow(const float* rows, size_t stride, const int* indices, const float* weights, int count,
                     int width, float* out);

/// Computes the mean of `heads` vectors of `size` values, which are next to each other in `from`. Sums are in
/// f64.
void meanOverHeads(const float* from, int heads, int size, float* to);

/// Returns the length of a row, computed in f64.
double rowLength(const float* row, int width);

float dotRows(const float* a, const float* b, int width);
void addScaledRow(float factor, const float* from, int width, float* to);

/// Returns the sum of (a - b)^2, or of a^2 if `b` is null.
float squaredDistance(const float* a, const float* b, int width);

/// Apply rotary positions to a head in place: x * cos + rotate(x) * sin. rotateInterleaved() rotates channels
/// 2i and 2i + 1 together, rotateHalves() rotates channels i and i + size / 2 together.
void rotateInterleaved(float* head, const float* cosine, const float* sine, int size);
void rotateHalves(float* head, const float* cosine, const float* sine, int size);

/// Normalises each of `count` columns over its `depth` channels. Inputs are in[channel * stride + column],
/// and `out` has the same layout. Weight and bias have a value for each channel; the bias may be null.
void normaliseColumns(const float* in, size_t stride, int depth, int count, const float* weight,
                      const float* bias, const NormRule& rule, float* out);

/// Computes the softmax of scores; `count` must be at least 1. If the mask value of a score is negative, the
/// result for this score is 0. If `mask` is null or all mask values are negative, ignores the mask. A NaN in
/// the mask does not count as negative. `to` may be `scores`.
void maskedSoftmax(const float* scores, const float* mask, int count, float* to);

}  // namespace mpm::kernels

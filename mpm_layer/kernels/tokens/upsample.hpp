// Bilinear upsampling, row by row.
#pragma once

#include <cstddef>
#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::kernels {

/// A point between samples `index` and `next`; `weight` is the weight of sample `next`.
struct Tap {
    int index = 0, next = 0;
    float weight = 0;
};

std::vector<Tap> bilinearTaps(int from, int to, bool alignCorners);

/// A run of neighbouring output columns between the same two samples. If runs are long, stretchRow() handles
/// a row run by run, without gathers.
struct Run {
    int index = 0, next = 0, begin = 0, end = 0;
};
struct Runs {
    std::vector<Run> runs;
    // For each output column:
    std::vector<float> weights;
    std::vector<int> index, next;
};

Runs bilinearRuns(int from, int to, bool alignCorners);

/// Keeps only the first `columns` output columns.
void crop(Runs& runs, int columns);
/// Returns output columns begin..end, renumbered from 0.
Runs slice(const Runs& runs, int begin, int end);

void stretchRow(const float* row, const Runs& runs, float* out);

/// Adds the blend of two rows to `to`. `weight` is the weight of `high`.
void addBlend(const float* low, const float* high, float weight, int columns, float* to);

/// Stretches `classes` rows, which are `stride` apart, and labels each output column with the row that has
/// the largest value. The lowest row wins ties; a NaN never wins. If `best` is not null, writes the largest
/// values to `best`.
void stretchArgmax(const float* rows, size_t stride, int classes, const Runs& runs, int* labels,
                   float* best = nullptr);

/// Fills row k of `to` with the sigmoid of low + weight * (high - low), computed from row k of `low` and of
/// `high`. `to` must already have a shape. Rows are `stride` apart. The sigmoid of a NaN is almost 0.
void packSigmoid(const float* low, const float* high, size_t stride, float weight, PackedWeights& to);

/// Finds, for each column, the row with the largest value, and this value. The lowest row wins ties; a NaN
/// never wins. If all are NaN, row 0 wins with minus infinity.
void argmaxRows(const float* rows, size_t stride, int count, int columns, int* labels, float* best);

}  // namespace mpm::kernels

// Products in int8 with 32-bit sums. Each row is quantised by its largest value, and so is each column of the
// weights, so nothing is calibrated. Sums of integers are exact, so the bits of a row do not depend on other
// rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::kernels {

/// Four neighbours along the depth of a product, a byte each, the first in the lowest byte.
using I8Quad = std::uint32_t;

/// Whether the processor has instructions that multiply bytes and sum up in 32 bits.
bool hasI8();

inline int quadsOf(int width) {
    return (width + 3) / 4;
}

/// The finer operand, which uses all steps of a byte. On some processors, the other operand has fewer steps.
/// Tokens and pixels should be finer: they have larger outliers than weights, and outliers make steps large.
enum class Finer { Left, Right };

/// How values become bytes. Bytes of the left operand are the steps of a value, plus `offset`.
struct ByteForm {
    int offset, left, right;  // left, right: steps of an operand's largest value
    int pair = 2 * right;     // largest sum of the steps of two neighbours of the right operand
};

/// The largest depth: sums of more products could exceed 32 bits.
constexpr int kLargestI8Depth = 65536;

/// Quantises a row to the quads of a left operand. Returns the value of a quantisation step: 0 for a row of
/// zeros, NaN if a value is not finite. If the step is NaN, every product of the row is NaN.
float packQuads(const float* row, int width, I8Quad* quads, Finer finer = Finer::Left);
/// Like packQuads, for a row whose values are at least `least`, which is at most 0. The steps begin at
/// `least`, so after an activation they are half as large. The weights must be packed with the same `least`.
float packQuadsFrom(float least, const float* row, int width, I8Quad* quads);

/// Returns the largest absolute value, or NaN if a value is not finite.
float largestMagnitude(const float* row, int width);
/// Quantises four rows of a right operand, which is the finer operand, to a quad for each column. `largest`
/// is the largest absolute value of the operand. The last rows may be null, for zeros. Adds the steps of each
/// column to `sums`.
void interleaveQuads(const float* const (&rows)[4], int width, float largest, I8Quad* quads,
                     std::int32_t* sums);

class PackedWeightsI8 : public Panels<I8Quad, 4> {
public:
    PackedWeightsI8() = default;
    /// With `least`, for products with rows from packQuadsFrom.
    PackedWeightsI8(const float* weights, size_t stride, int depth, int columns,
                    std::optional<float> least = std::nullopt);

    size_t bytes() const;  ///< bytes in use
    const float* scales() const { return m_scales.data(); }
    /// Returns the values that are added to the sums of each column, to remove the offset of left bytes.
    const std::int32_t* offsets() const { return m_offsets.data(); }
    /// Returns the product with a row of `least`, which the caller must add. Empty without `least`.
    const std::vector<float>& least() const { return m_least; }

    /// Makes room for another operand; setColumns must follow.
    void reshape(int depth, int columns);
    /// Sets scales and offsets of columns first..first+count. `sums` is from interleaveQuads.
    void setColumns(int first, int count, float largest, const std::int32_t* sums);

private:
    std::vector<float> m_scales, m_least;  // scales: of whole panels
    std::vector<std::int32_t> m_offsets;
};

/// Returns the error of quantising by column, divided by the size of the weights without the largest weight
/// of each column (both are root mean squares). Infinite if a weight is not finite or the depth exceeds
/// kLargestI8Depth.
double lossOfI8(const float* weights, size_t stride, int depth, int columns);

/// Like product(); `rowStride` counts quads, and `rowScales` has the result of packQuads for each row.
void productI8(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
               const PackedWeightsI8& weights, const Epilogue& epilogue, float* output, size_t outputStride);

}  // namespace mpm::kernels

// Products in int8 with 32-bit sums. Rows are quantised by their own largest value,
// weights by each column's: nothing is calibrated. Sums of integers are exact, so the same promises about
// equal bits hold as in f32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::kernels {

/// Four neighbours along the depth of a product, a byte each, the first in the lowest.
using I8Quad = std::uint32_t;

/// Whether the processor has instructions that multiply bytes and sum up in 32 bits.
bool hasI8();

inline int quadsOf(int width) {
    return (width + 3) / 4;
}

/// The operand of a product whose bytes have all steps, if a processor's instructions cannot give them to
/// both. Tokens and pixels have larger outliers than weights, which make steps large.
enum class Finer { Left, Right };

/// Bytes of operands: those of the left one are value + offset.
struct ByteForm {
    int offset, left, right;  // left, right: steps of the largest value
    int pair = 2 * right;     // steps of the right operand's largest pair
};

/// Sums of more products could leave 32 bits.
constexpr int kLargestI8Depth = 65536;

/// A row as the quads of a left operand. Returns the value of one quantisation step: 0 for a row of zeros;
/// NaN if a value is not finite, and then every product of the row is NaN.
float packQuads(const float* row, int width, I8Quad* quads, Finer finer = Finer::Left);
/// As packQuads, for a row without a value below `least`, which is at most 0. The steps begin at `least`, so
/// they are half as large behind an activation. The weights must be packed with the same `least`.
float packQuadsFrom(float least, const float* row, int width, I8Quad* quads);

/// The largest absolute value, or NaN if a value is not finite.
float largestMagnitude(const float* row, int width);
/// Rows of a right operand, the finer one, whose largest absolute value is `largest` as quads of their
/// columns; the last rows may be null: zeros. Adds each column's steps to `sums`.
void interleaveQuads(const float* const (&rows)[4], int width, float largest, I8Quad* quads,
                     std::int32_t* sums);

class PackedWeightsI8 : public Panels<I8Quad, 4> {
public:
    PackedWeightsI8() = default;
    /// With `least`, for rows of packQuadsFrom.
    PackedWeightsI8(const float* weights, size_t stride, int depth, int columns,
                    std::optional<float> least = std::nullopt);

    size_t bytes() const;  ///< in use
    const float* scales() const { return m_scales.data(); }
    /// To be added to the sums of each column: it removes from them what the bytes of left operands are
    /// above their steps.
    const std::int32_t* offsets() const { return m_offsets.data(); }
    /// The product with a row whose values all are `least`: to be added to products. Empty without it.
    const std::vector<float>& least() const { return m_least; }

    /// setColumns comes after it.
    void reshape(int depth, int columns);
    /// Columns `first`.. by interleaveQuads: `sums` of the steps of each one.
    void setColumns(int first, int count, float largest, const std::int32_t* sums);

private:
    std::vector<float> m_scales, m_least;  // scales: of whole panels
    std::vector<std::int32_t> m_offsets;
};

/// The root mean square of the error of quantising by column, relative to that of the weights without
/// the largest of each column; infinite if a weight is not finite or the depth exceeds kLargestI8Depth.
double lossOfI8(const float* weights, size_t stride, int depth, int columns);

/// As `product`; `rowStride` counts quads, `rowScales` are the results of packQuads for each row.
void productI8(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
               const PackedWeightsI8& weights, const Epilogue& epilogue, float* output, size_t outputStride);

}  // namespace mpm::kernels

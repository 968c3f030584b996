// Products in int8 with 32-bit sums. The quantisation step of a row, or of a column of the weights, follows
// from the largest value of the row or column, so no calibration is needed. Sums of integers are exact, so
// the bits of a row do not depend on other rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mpm_layer/kernels/product/bf16.hpp"

namespace mpm::kernels {

/// Four neighbours along the depth of a product, each in a byte. The first is in the lowest byte.
using I8Quad = std::uint32_t;

/// Returns whether the processor has instructions that multiply bytes and add the products in 32 bits.
bool hasI8();

inline int quadsOf(int width) {
    return (width + 3) / 4;
}

/// The operand that is quantised with the full range of a byte. On some processors, the other operand has
/// fewer steps. The caller should choose tokens or pixels, not weights, as the finer operand: outliers make
/// steps large, and tokens and pixels have larger outliers than weights.
enum class Finer { Left, Right };

/// How values become bytes: a byte is value / step, rounded, plus `offset` if the operand is the left one.
struct ByteForm {
    int offset, left, right;  // left, right: largest number of steps of a value of each operand
    int pair = 2 * right;     // largest number of steps of the sum of two neighbours of the right operand
};

/// Returns the form of the bytes on this processor.
const ByteForm& formOf(Finer finer);
/// Returns the inverse of the step of a right operand whose largest value is `largest`. The inverse is finite
/// even if `largest` is tiny.
float inverseOf(float largest);

/// The largest depth: sums of more products could exceed 32 bits.
constexpr int kLargestI8Depth = 65536;

/// Quantises a row to the quads of a left operand. Returns the quantisation step: 0 for a row of zeros, NaN
/// if a value is not finite. If the step is NaN, every product of the row is NaN.
float packQuads(const float* row, int width, I8Quad* quads, Finer finer = Finer::Left);
/// Like packQuads(), for a row without values below `least`. Bytes count steps from `least`, not from 0. If
/// `least` is near 0, as after GELU, the steps are about half as large as those of packQuads(). `least` must
/// not be positive. The weights must be packed with the same `least`.
float packQuadsFrom(float least, const float* row, int width, I8Quad* quads);
/// Quantise a row of pairs; productI8WritesPairs() must be true. Values below `least` count as `least`.
float packQuads(const Bf16Pair* row, int width, I8Quad* quads, Finer finer = Finer::Left);
float packQuadsFrom(float least, const Bf16Pair* row, int width, I8Quad* quads);

/// Returns the largest absolute value, or NaN if a value is not finite.
float largestMagnitude(const float* row, int width);
/// Quantises four rows of a right operand, in the form of Finer::Right, to a quad for each column. `largest`
/// is the largest absolute value of the operand. If fewer than four rows exist, the last pointers are null,
/// and the missing rows count as zeros. Adds the four bytes of column n to sums[n].
void interleaveQuads(const float* const (&rows)[4], int width, float largest, I8Quad* quads,
                     std::int32_t* sums);

class PackedWeightsI8 : public Panels<I8Quad, 4> {
public:
    PackedWeightsI8() = default;
    /// If `least` is set, the left operand must be from packQuadsFrom(), else from packQuads().
    PackedWeightsI8(const float* weights, size_t stride, int depth, int columns,
                    std::optional<float> least = std::nullopt);

    size_t bytes() const;  ///< bytes in use
    const float* scales() const { return m_scales.data(); }
    /// Returns a value for each column. Products add the value to the column's sums, to remove the offset of
    /// the left operand's bytes.
    const std::int32_t* offsets() const { return m_offsets.data(); }
    /// Returns the product of the weights with a row in which every value is `least`. The caller must add
    /// this product to the bias. The result is empty if `least` is not set.
    const std::vector<float>& least() const { return m_least; }
    /// Returns the rounding errors of the weights: the weights that were packed, minus their quantised
    /// values. The arguments must be those of the constructor.
    std::vector<float> errorsOf(const float* weights, size_t stride) const;

    /// Makes room for another operand. The caller must then call setColumns().
    void reshape(int depth, int columns);
    /// Sets the scales and offsets of `count` columns, from `first` on. `sums` is from interleaveQuads().
    void setColumns(int first, int count, float largest, const std::int32_t* sums);

private:
    std::vector<float> m_scales, m_least;  // m_scales also has entries for missing columns
    std::vector<std::int32_t> m_offsets;
};

/// Returns the relative error of weights that are quantised with a step for each column: the L2 norm of the
/// errors, divided by the L2 norm of the weights without the largest weight of each column. The result is
/// infinite if a weight is not finite or the depth exceeds kLargestI8Depth.
double lossOfI8(const float* weights, size_t stride, int depth, int columns);

/// Like product(); `rowStride` is in quads, and `rowScales` has the result of packQuads for each row.
void productI8(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
               const PackedWeightsI8& weights, const Epilogue& epilogue, float* output, size_t outputStride);
/// Returns whether productI8() can write pairs for rows of this depth. Only processors with AMX can.
bool productI8WritesPairs(int depth);
/// Like the other productI8(), but writes rows of pairs. productI8WritesPairs() must be true.
void productI8(const I8Quad* rows, size_t rowStride, const float* rowScales, int count,
               const PackedWeightsI8& weights, const Epilogue& epilogue, const PairRows& output);

}  // namespace mpm::kernels

// A linear layer in the precision of the packed encoder, and the rows that it reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::cpu {

/// Returns how many consecutive values along the depth of a product are stored in 32 bits.
inline int valuesOf(Precision precision) {
    return precision == Precision::F32 ? 1 : precision == Precision::BF16 ? 2 : 4;
}
inline int wordsOf(Precision precision, int width) {
    return (width + valuesOf(precision) - 1) / valuesOf(precision);
}

/// The left operand of a product, in the precision of the product. The memory is readable to the end of the
/// last row group.
class LeftRows {
public:
    /// Places the rows in `memory`, whose contents are lost. `least`: Linear::least() of the layer that reads
    /// the rows. `finer`: in int8, the operand with smaller steps; Right if the rows are weights.
    LeftRows(kernels::Buffer& memory, Precision precision, int count, int width,
             std::optional<float> least = std::nullopt, kernels::Finer finer = kernels::Finer::Left);

    /// Calls write(row), which must write row `r` as f32. Then converts the row to precision().
    template <class Write>
    void fill(int r, const Write& write) {
        float* row = m_precision == Precision::F32 ? m_data + r * m_stride : m_row;
        write(row);
        pack(r, row);
    }
    /// Converts `row` to row `r`. If the precision is f32, `row` must already be in the place of row `r`.
    void pack(int r, const float* row);
    /// Converts a row of pairs to row `r`. The precision must not be f32.
    void pack(int r, const kernels::Bf16Pair* row);
    /// Computes the rounding errors of row `r`: the values in `row`, from which row `r` was packed, minus
    /// their quantised values. The precision must be int8, and `least` must not be set.
    void errorsOf(int r, const float* row, float* errors) const;
    /// Copies a part of row 0 of `from` to row `r`: `words` words, beginning with word `first`.
    void copy(int r, const LeftRows& from, int first, int words);

    Precision precision() const { return m_precision; }
    int count() const { return m_count; }
    size_t stride() const { return m_stride; }  ///< in floats, in pairs or in quads
    float* floats() const { return m_data; }
    kernels::Bf16Pair* pairs() const { return reinterpret_cast<kernels::Bf16Pair*>(m_data); }
    kernels::I8Quad* quads() const { return reinterpret_cast<kernels::I8Quad*>(m_data); }
    float* scales() const { return m_scales; }  ///< of each row of quads

private:
    template <class Value>
    void quantise(int r, const Value* row);

    Precision m_precision;
    int m_count, m_width;
    std::optional<float> m_least;
    kernels::Finer m_finer;
    size_t m_stride;
    float* m_data;
    float* m_scales;
    float* m_row;  // a row before it becomes pairs or quads
};

/// The right operand of a product. Only the member in the precision of the left operand is used.
struct RightColumns {
    kernels::PackedWeights floats;
    kernels::PackedWeightsBf16 pairs;
    kernels::PackedWeightsI8 quads;

    /// Computes output = epilogue(product) for `rows` rows of `left`, from row `row`.
    void multiply(const LeftRows& left, int row, int rows, const kernels::Epilogue& epilogue, float* output,
                  size_t outputStride) const;
};

/// The largest allowed loss (kernels::lossOfI8) of a layer in int8. Normally distributed weights lose 0.8 %.
/// A column whose largest weight is 50 times as large as its other weights loses 11 %.
constexpr double kLargestI8Loss = 0.025;

/// The number of bytes of a weight in int8. The second byte holds the rounding error of the first byte. A
/// layer with two bytes computes two products, which takes twice as long. If the input rows are in f32 and
/// `least` is not set, the input values have two bytes too, which takes a third product.
enum class WeightBytes { One, Two };

class Linear {
public:
    Linear() = default;
    /// @param weight [depth][columns]
    /// @param bias a value for each column, or empty
    /// @param least if present, a lower bound of the input values
    Linear(const float* weight, int depth, int columns, std::vector<float> bias, Precision precision,
           std::optional<float> least = std::nullopt, WeightBytes bytes = WeightBytes::One);
    /// If `columns` is 0, the layer has all columns of the weight.
    Linear(const NamedWeights& weights, const std::string& name, int depth, int columns, Precision precision,
           std::optional<float> least = std::nullopt, WeightBytes bytes = WeightBytes::One);

    bool present() const { return m_columns != 0; }
    int depth() const { return m_depth; }
    int columns() const { return m_columns; }
    /// Returns the precision of the weights and of the input rows.
    Precision precision() const { return m_precision; }
    std::optional<float> least() const { return m_least; }

    /// Computes output = epilogue(rows * weight + bias) on the calling thread. Ignores epilogue.bias.
    void apply(const LeftRows& rows, kernels::Epilogue epilogue, float* output, size_t outputStride) const;
    /// Returns whether the layer can write rows of pairs.
    bool writesPairs() const {
        return m_precision == Precision::BF16 ||
               (m_precision == Precision::I8 && kernels::productI8WritesPairs(m_depth));
    }
    /// Like the first apply(), but writes rows of pairs. writesPairs() must be true.
    void apply(const LeftRows& rows, kernels::Epilogue epilogue, const kernels::PairRows& output) const;
    /// Like the first apply(), but writes rows for the next layer.
    void apply(const LeftRows& rows, kernels::Epilogue epilogue, LeftRows& output) const;
    /// Like the first apply(), for f32 rows. Memory must be readable to the end of the last row group.
    void apply(const float* rows, size_t stride, int count, kernels::Epilogue epilogue, float* output,
               size_t outputStride) const;

private:
    /// Adds the bias to the epilogue. If weights have two bytes, also adds the products of the second bytes.
    /// `errors` has the second bytes of the rows, or is null.
    kernels::Epilogue completed(kernels::Epilogue epilogue, const LeftRows& rows,
                                const LeftRows* errors = nullptr) const;
    void addToBias(const std::vector<float>& values);

    int m_depth = 0, m_columns = 0;
    Precision m_precision = Precision::F32;
    std::optional<float> m_least;
    RightColumns m_weight;
    kernels::PackedWeightsI8 m_errors;  // the second bytes of the weights; may be empty
    std::vector<float> m_bias;
};

/// Computes output[r] of the layer for rows[r], on all threads. Rows follow each other without padding.
/// `some`: the rows to compute (null: all). The other rows of the output do not change.
void multiplyRows(const float* rows, int count, const std::vector<int>* some, const Linear& layer,
                  kernels::Activation activation, float* output);

}  // namespace mpm::cpu

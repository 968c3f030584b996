// A linear layer in the precision the encoder was packed for, and the rows it takes.
#pragma once

#include <string>
#include <vector>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/kernels/bf16.hpp"
#include "mpm_layer/kernels/product.hpp"

namespace mpm::cpu {

/// Rows on their way into a product, in the precision it multiplies. Whole row groups can be read.
class LeftRows {
public:
    /// They lie in `memory`; what it held is lost.
    LeftRows(kernels::Buffer& memory, Precision precision, int count, int width);

    /// write(row) gives row `r` its values, as f32.
    template <class Write>
    void fill(int r, const Write& write) {
        if (m_half) {
            write(m_row);
            kernels::packPairs(m_row, m_width, pairs() + r * m_stride);
        } else {
            write(m_data + r * m_stride);
        }
    }

    int count() const { return m_count; }
    size_t stride() const { return m_stride; }  ///< in floats, or in pairs
    float* floats() const { return m_data; }
    kernels::Bf16Pair* pairs() const { return reinterpret_cast<kernels::Bf16Pair*>(m_data); }

private:
    bool m_half;
    int m_count, m_width;
    size_t m_stride;
    float* m_data;
    float* m_row;  // one row on its way to pairs
};

class Linear {
public:
    Linear() = default;
    /// A `columns` of 0 takes as many as the weight has.
    Linear(const NamedWeights& weights, const std::string& name, int depth, int columns, Precision precision);

    bool present() const { return m_columns != 0; }
    int columns() const { return m_columns; }

    /// output = epilogue(rows * weight + bias), on the calling thread. The epilogue's bias is the layer's
    /// own.
    void apply(const LeftRows& rows, kernels::Epilogue epilogue, float* output, size_t outputStride) const;
    /// The same as rows for the next layer.
    void apply(const LeftRows& rows, kernels::Epilogue epilogue, LeftRows& output) const;
    /// Of f32 rows where they lie; whole row groups are read.
    void apply(const float* rows, size_t stride, int count, kernels::Epilogue epilogue, float* output,
               size_t outputStride) const;

private:
    kernels::Epilogue withBias(kernels::Epilogue epilogue) const;

    int m_columns = 0;
    kernels::PackedWeights m_weight;
    kernels::PackedWeightsBf16 m_weightBf16;
    std::vector<float> m_bias;
};

}  // namespace mpm::cpu

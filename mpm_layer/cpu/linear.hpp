// A linear layer in the precision the encoder was packed for: rows in and out are f32.
#pragma once

#include <string>
#include <vector>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/kernels/bf16.hpp"
#include "mpm_layer/kernels/product.hpp"

namespace mpm::cpu {

class Linear {
public:
    Linear() = default;
    /// A `columns` of 0 takes as many as the weight has.
    Linear(const NamedWeights& weights, const std::string& name, int depth, int columns, Precision precision);

    bool present() const { return m_columns != 0; }
    int columns() const { return m_columns; }

    /// output = epilogue(rows * weight + bias), on the calling thread; whole row groups are read. The
    /// epilogue's bias is the layer's own.
    void apply(const float* rows, size_t stride, int count, kernels::Epilogue epilogue, float* output,
               size_t outputStride) const;

private:
    int m_columns = 0;
    kernels::PackedWeights m_weight;
    kernels::PackedWeightsBf16 m_weightBf16;
    std::vector<float> m_bias;
};

}  // namespace mpm::cpu

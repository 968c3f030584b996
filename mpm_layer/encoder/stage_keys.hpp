// Computes the keys of a block from the tokens that enter it, for reducers that compare keys.
#pragma once

#include <vector>

#include "base/norm_rule.hpp"
#include "mpm_layer/encoder/config.hpp"
#include "mpm_layer/encoder/shape.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

class StageKeys {
public:
    /// @param block the block's number in the names of its weights
    StageKeys(const EncoderConfig& config, const NamedWeights& weights, const EncoderShape& shape, int block);

    int width() const { return m_size; }
    /// Writes the mean over heads of each row's key, without rotary positions, to `out`:
    /// [rows.count][width()]. Always computes in f32.
    void compute(const RowsView& rows, float* out) const;

private:
    void computeChunk(const RowsView& rows, int first, int count, float* out) const;

    const NormRule m_rule, m_keyRule;
    int m_heads = 1, m_size = 0;
    bool m_hasNorm = false, m_hasKeyNorm = false;
    std::vector<float> m_normWeight, m_normBias, m_keyNormWeight, m_keyNormBias, m_bias;
    kernels::PackedWeights m_weight;  ///< weights of the mean key; with normalised keys, of each head's key
};

}  // namespace mpm

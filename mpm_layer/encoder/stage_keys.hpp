// The keys that a block would compute from the tokens that enter it, as reducers compare them.
#pragma once

#include <vector>

#include "base/norm_rule.hpp"
#include "mpm_layer/encoder/config.hpp"
#include "mpm_layer/encoder/shape.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// The mean of `heads` groups of `size` neighbours.
void meanOverHeads(const float* from, int heads, int size, float* to);

class StageKeys {
public:
    /// @param block by its number in the weights' names
    StageKeys(const EncoderConfig& config, const NamedWeights& weights, const EncoderShape& shape, int block);

    int width() const { return m_size; }
    /// The mean over heads of each row's key, before rotation: [rows.count][width()]. In f32 for every
    /// precision of the encoder.
    void compute(const RowsView& rows, float* out) const;

private:
    void computeChunk(const RowsView& rows, int first, int count, float* out) const;

    const NormRule m_rule, m_keyRule;
    int m_heads = 1, m_size = 0;
    bool m_hasNorm = false, m_hasKeyNorm = false;
    std::vector<float> m_normWeight, m_normBias, m_keyNormWeight, m_keyNormBias, m_bias;
    kernels::PackedWeights m_weight;  ///< of the mean key; of all heads' keys if these are normalised
};

}  // namespace mpm

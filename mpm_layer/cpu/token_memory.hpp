// Keys, values and outputs of a stream's tokens, as last computed.
#pragma once

#include <memory>

#include "mpm_layer/cpu/attention.hpp"
#include "mpm_layer/cpu/packed_encoder.hpp"

namespace mpm::cpu {

/// Queries of a head.
struct HeadQueries {
    const float* rows;
    size_t stride;
    int count;
};

/// All data is in the layout of the kernels, so that only rows that are computed again are written.
class TokenMemory : public StreamMemory {
public:
    TokenMemory(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights, int rows);

    void recall(int tap, float* to) const override;
    float* output(int tap, int row) { return outputs(tap) + static_cast<size_t>(row) * m_dim; }

    /// Keys and values of `count` rows, which are the rows of `heads` from `first` on. Different rows may be
    /// kept at the same time.
    void keep(int block, const HeadRows& heads, int first, const int* rows, int count);

    /// Attention of the panel of queries from `first` on to all rows.
    void attend(int block, int head, const HeadQueries& queries, int first, const float* keyBias,
                float* output, size_t outputStride) const;

private:
    struct Block {
        float *keys, *keyScales, *values;
    };

    size_t keysSize() const;
    size_t valuesSize() const;
    Block block(int index) const;
    float* outputs(int tap) const { return m_start + m_outputsAt + m_outputStep * tap; }
    void keepKey(const Block& block, const HeadRows& heads, int from, int to);
    void keepValue(const Block& block, const float* value, int to);
    kernels::AttentionHead head(const Block& block, int index, const HeadQueries& queries,
                                const float* keyBias) const;

    std::shared_ptr<const CpuEncoder> m_encoder;
    const int m_rows, m_dim;
    const Precision m_precision;
    const bool m_valuesArePairs, m_valuesAreColumns;
    int m_readableRows;
    size_t m_keyStride, m_scaleStride, m_valueStride, m_headStep;
    // Keys, scales and values of each block, then the outputs. A single allocation: many small allocations
    // leave the ends of large pages unused.
    size_t m_scalesAt, m_valuesAt, m_blockStep, m_outputsAt, m_outputStep;
    kernels::Buffer m_all;
    float* m_start;
};

}  // namespace mpm::cpu

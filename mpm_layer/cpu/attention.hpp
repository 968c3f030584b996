// Attention of a whole batch: every head of every image, shared out by panels of queries.
#pragma once

#include <vector>

#include "mpm_layer/cpu/batch.hpp"
#include "mpm_layer/cpu/packed_encoder.hpp"
#include "mpm_layer/kernels/attention.hpp"
#include "mpm_layer/kernels/bf16.hpp"

namespace mpm::cpu {

/// Rows of queries, keys and values beside each other: [rows][3 * inner], `stride` apart.
struct QkvRows {
    const float* data;
    size_t stride;
};

/// Keys and values of a batch as bf16 pairs. Keeps its memory.
struct AttentionScratch {
    kernels::Buffer keys;    // [rows][heads * pairsOf(head size)]
    kernels::Buffer values;  // pairs of tokens as packValues writes them, [pairs][inner] or [inner][pairs]
};

class Attention {
public:
    /// `keyBias` has one value for each row of the batch, or is null.
    Attention(const CpuEncoder& encoder, const Batch& batch, QkvRows qkv, const float* keyBias,
              AttentionScratch& scratch);

    /// Softmax(q k^T) v of each head, heads beside each other.
    void run(float* output, size_t outputStride);

private:
    int tokensOf(int image) const { return m_batch.special() + m_batch.image(image).tokens; }
    int pairsPerHead() const { return kernels::pairsOf(m_encoder.headSize); }
    void packPairs();
    void packImagePairs(int image, int firstPair);
    kernels::AttentionHead head(int image, int index) const;
    kernels::AttentionHeadBf16 headBf16(int image, int index) const;

    const CpuEncoder& m_encoder;
    const Batch& m_batch;
    const QkvRows m_qkv;
    const float* m_keyBias;
    AttentionScratch& m_scratch;
    size_t m_keyStride = 0, m_valueStride = 0;
    bool m_valuesAreColumns = false;
    std::vector<int> m_firstPair;  ///< of each image, among the rows of value pairs
};

}  // namespace mpm::cpu

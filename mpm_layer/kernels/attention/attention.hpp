// Attention of a head over an image. The kernels compute the scores of a few queries and a few keys at a
// time, so that the scores fit in the cache.
#pragma once

#include <cstddef>

namespace mpm::kernels {

/// The base-2 logarithm of e. A score is a logit times kLog2E, so that 2^score = e^logit.
constexpr float kLog2E = 1.44269504f;

/// The input of attention for a head of an image. Rows are `stride` floats apart. Keys must be readable up
/// to the end of the last row group, even if fewer keys exist: see paddedSize() in product.hpp.
struct AttentionHead {
    const float* queries;
    const float* keys;
    const float* values;
    size_t stride;
    int tokens;
    int headSize;
    float scale;                     ///< the logits are scale * q k^T
    const float* keyBias = nullptr;  ///< a value for each key, added to the key's logits; may be null
    int queryCount = -1;             ///< if negative, there are as many queries as tokens

    int queriesFrom(int first) const { return (queryCount < 0 ? tokens : queryCount) - first; }
};

/// Returns the number of queries in a panel, which attendPanel() computes together.
int queryPanel();

/// Computes softmax(scale q k^T + bias) v from queries q, keys k and values v, for the panel of queries that
/// begins at query `first`. Row 0 of `output` is for query `first`; rows are `outputStride` floats apart.
void attendPanel(const AttentionHead& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

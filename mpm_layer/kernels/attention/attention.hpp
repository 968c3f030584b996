// Attention of a head over an image. The kernels compute the scores of a panel of queries and a few keys at a
// time, so the scores fit in the cache.
#pragma once

#include <cstddef>

namespace mpm::kernels {

/// The base-2 logarithm of e. Attention computes its exponentials as powers of 2.
constexpr float kLog2E = 1.44269504f;

/// The input of a head for an image. Rows are `stride` floats apart. Keys must be readable up to the end of
/// the last row group, even if fewer keys exist: see paddedSize() in product.hpp.
struct AttentionHead {
    const float* queries;
    const float* keys;
    const float* values;
    size_t stride;
    int tokens;
    int headSize;
    float scale;                     ///< the logits are scale * q k^T
    const float* keyBias = nullptr;  ///< a value for each key, added to its logits; may be null
    int queryCount = -1;             ///< negative: as many queries as tokens

    int queriesFrom(int first) const { return (queryCount < 0 ? tokens : queryCount) - first; }
};

/// Returns the number of queries in a panel. attendPanel() computes these queries together.
int queryPanel();

/// Computes softmax(scale q k^T + bias) v for the panel of queries that begins at row `first`. The first row
/// of `output` belongs to query `first`; rows of `output` are `outputStride` floats apart.
void attendPanel(const AttentionHead& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

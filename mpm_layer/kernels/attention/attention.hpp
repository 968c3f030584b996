// Attention of a head over an image. The scores stay in the cache; there is no N x N buffer.
#pragma once

#include <cstddef>

namespace mpm::kernels {

/// A head of an image. Rows are `stride` floats apart. Keys are read in whole row groups: see paddedSize.
struct AttentionHead {
    const float* queries;
    const float* keys;
    const float* values;
    size_t stride;
    int tokens;
    int headSize;
    float scale;                     ///< factor of the logits
    const float* keyBias = nullptr;  ///< of each key, added to its logits; may be null
    int queryCount = -1;             ///< negative: as many queries as tokens

    int queriesFrom(int first) const { return (queryCount < 0 ? tokens : queryCount) - first; }
};

/// The number of queries that are computed together: a panel.
int queryPanel();

/// Computes softmax(scale q k^T + bias) v for the panel of queries that begins at row `first`. The first row
/// of `output` belongs to this query; its rows are `outputStride` floats apart.
void attendPanel(const AttentionHead& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

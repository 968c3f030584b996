// Attention of a head over an image. Scores are computed for a panel of queries and a few keys at a time, so
// that they fit in the cache.
#pragma once

#include <cstddef>

namespace mpm::kernels {

/// The base-2 logarithm of e. Attention computes its exponentials as powers of 2.
constexpr float kLog2E = 1.44269504f;

/// The input of a head for an image. Rows are `stride` floats apart. Keys must be readable in whole row
/// groups: see paddedSize().
struct AttentionHead {
    const float* queries;
    const float* keys;
    const float* values;
    size_t stride;
    int tokens;
    int headSize;
    float scale;                     ///< factor of the logits
    const float* keyBias = nullptr;  ///< added to the logits of each key; may be null
    int queryCount = -1;             ///< negative: as many queries as tokens

    int queriesFrom(int first) const { return (queryCount < 0 ? tokens : queryCount) - first; }
};

/// Returns the number of queries in a panel, which are computed together.
int queryPanel();

/// Computes softmax(scale q k^T + bias) v for the panel of queries that begins at row `first`. The first row
/// of `output` belongs to query `first`; rows of `output` are `outputStride` floats apart.
void attendPanel(const AttentionHead& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

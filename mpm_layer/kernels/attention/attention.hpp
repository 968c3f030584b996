// Attention of a head over an image: scores never leave the cache, no N x N buffer anywhere.
#pragma once

#include <cstddef>

namespace mpm::kernels {

/// A head of an image. All rows are `stride` floats apart; whole row groups of keys are read (see
/// paddedSize).
struct AttentionHead {
    const float* queries;
    const float* keys;
    const float* values;
    size_t stride;
    int tokens;
    int headSize;
    float scale;                     ///< of the logits
    const float* keyBias = nullptr;  ///< per key, added to every logit; may be null
    int queryCount = -1;             ///< negative: as many queries as tokens

    int queriesFrom(int first) const { return (queryCount < 0 ? tokens : queryCount) - first; }
};

/// Queries are worked on in panels of this many.
int queryPanel();

/// softmax(scale q k^T + bias) v for the panel that starts at row `first`; output[q - first] is
/// `outputStride` apart.
void attendPanel(const AttentionHead& head, int first, float* output, size_t outputStride);

}  // namespace mpm::kernels

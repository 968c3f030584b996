// Deformable attention of a head: softmax of the logits, bilinear samples, and their weighted sum.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpm::kernels {

/// Some queries of a head. Every query has `samples` samples, sorted by level (feature map).
struct DeformableHead {
    /// The head's values, [position][channels]. All four neighbours of every sample must be readable. So
    /// zeros surround each level: a row above the level, a position before each row, and two rows below.
    /// Samples outside the level are moved to the two rows below.
    const float* values = nullptr;
    int channels = 0;
    int samples = 0, queries = 0;
    const float* logits = nullptr;  ///< [queries][samples], rows `logitStride` apart
    size_t logitStride = 0;
    const float* offsets = nullptr;  ///< [queries][samples][x, y] in pixels, rows `offsetStride` apart
    size_t offsetStride = 0;
    int next = 0;  ///< number of later queries to prefetch, at most `queries`
    // Arrays of [queries * samples]. For each sample: the reference point x, y in pixels from the centre of
    // pixel 0; the columns and rows of the sample's level; `pitch`, the number of elements of `values` from a
    // row of the level to the next row; `start`, the index of the level's pixel 0 in `values`.
    const float *x = nullptr, *y = nullptr;
    const float *columns = nullptr, *rows = nullptr;
    const std::int32_t *pitch = nullptr, *start = nullptr;
    float* out = nullptr;  ///< [queries][channels], rows `outStride` apart
    size_t outStride = 0;
};

/// `samples` is the number of samples of all queries together. x, y, columns, rows, pitch and start must be
/// readable for deformableRoom(samples) elements. `scratch` of deformableHead() must have
/// deformableScratch(samples) floats.
size_t deformableRoom(size_t samples);
size_t deformableScratch(size_t samples);

/// Computes the output of the queries. Pixels outside a level count as 0. A sample whose place is not finite
/// is 0. The bits of a query's output do not depend on other queries.
void deformableHead(const DeformableHead& head, float* scratch);

/// Copies `channels` elements of each of `count` positions, which are `stride` elements apart, to `to`,
/// without gaps.
void packPositions(const float* from, size_t stride, int channels, int count, float* to);

}  // namespace mpm::kernels

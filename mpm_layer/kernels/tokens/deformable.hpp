// Deformable attention of a head: softmax of the logits, bilinear samples, and their weighted sum.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpm::kernels {

/// Some queries of a head. Every query has `samples` samples: the points of each level, level by level.
struct DeformableHead {
    /// The head's channels, position after position. Each level has zeros around it, so that four neighbours
    /// can be read everywhere: a row above, a position before each row, and two rows below.
    const float* values = nullptr;
    int channels = 0;
    int samples = 0, queries = 0;
    const float* logits = nullptr;  ///< [queries][samples], rows `logitStride` apart
    size_t logitStride = 0;
    const float* offsets = nullptr;  ///< [queries][samples][x, y] in pixels, rows `offsetStride` apart
    size_t offsetStride = 0;
    int next = 0;  ///< number of following queries that are computed next, at most `queries`
    // For each sample, [queries * samples]: the reference point in pixels from the centre of pixel 0, and the
    // level of the sample: its columns and rows, the elements from row to row, and the element of pixel 0.
    const float *x = nullptr, *y = nullptr;
    const float *columns = nullptr, *rows = nullptr;
    const std::int32_t *pitch = nullptr, *start = nullptr;
    float* out = nullptr;  ///< [queries][channels], rows `outStride` apart
    size_t outStride = 0;
};

/// `samples` counts the samples of all queries. x, y, columns, rows, pitch and start must be readable for
/// deformableRoom(samples) elements. deformableHead() needs deformableScratch(samples) floats of temporary
/// memory.
size_t deformableRoom(size_t samples);
size_t deformableScratch(size_t samples);

/// Computes the output of the queries. Pixels outside a level count as 0, and so do samples whose place is
/// not finite. The bits of a query do not depend on the other queries.
void deformableHead(const DeformableHead& head, float* scratch);

/// Copies `channels` elements of each of `count` positions, which are `stride` elements apart, side by side.
void packPositions(const float* from, size_t stride, int channels, int count, float* to);

}  // namespace mpm::kernels

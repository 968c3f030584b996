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
    int next = 0;  ///< queries behind these that are computed next, at most `queries`
    // For each sample, [queries * samples]: the reference point, in pixels from the centre of pixel 0, and
    // the level: columns and rows, elements from row to row, and the element of pixel 0.
    const float *x = nullptr, *y = nullptr;
    const float *columns = nullptr, *rows = nullptr;
    const std::int32_t *pitch = nullptr, *start = nullptr;
    float* out = nullptr;  ///< [queries][channels], rows `outStride` apart
    size_t outStride = 0;
};

/// Floats of memory that deformableHead() needs for `queries` * `samples` samples. x, y, columns, rows, pitch
/// and start must be readable for deformableRoom(samples) elements.
size_t deformableRoom(size_t samples);
size_t deformableScratch(size_t samples);

/// Pixels outside of a level count as 0, and so does a sample whose place is not finite. A query's bits do
/// not depend on the other queries.
void deformableHead(const DeformableHead& head, float* scratch);

/// `channels` of each of `count` positions, `stride` elements apart, side by side.
void packPositions(const float* from, size_t stride, int channels, int count, float* to);

}  // namespace mpm::kernels

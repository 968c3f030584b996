// Pixels of an image as the right operand of a product. A cell has 32 bits: an f32, a pair of bf16 or a quad
// of bytes of neighbouring channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpm::kernels {

using Cell = std::uint32_t;

/// A run of columns whose cells are neighbours in memory: from `lane` of a vector to the next run. The cell
/// of lane l is at offset + l.
struct CellRun {
    int lane;
    std::ptrdiff_t offset;
};

/// The source of a panel's rows. The cell of row (plane, tap) in a column is at cells + plane * stride +
/// taps[tap] + the column's offset.
struct CellGrid {
    const Cell* cells;
    size_t stride;
    int planes;
    const std::ptrdiff_t* taps;
    int count;  ///< number of taps
};

/// Fills panel[plane * count + tap][column]. Each of the panel's two vectors must have at least one run, and
/// the first run must begin at lane 0. Each run reads whole vectors, so memory before and behind the cells
/// must be readable.
void gatherPanel(const CellGrid& grid, const std::vector<CellRun> (&runs)[2], void* panel);

/// Computes, for all `width` x of a row, to[x] = start + the sum over planes and taps of weights[plane *
/// count + tap] * the f32 cell at x. Meant for few rows of weights, which would not fill a row group. Whole
/// vectors must be readable.
void sumTaps(const CellGrid& grid, const float* weights, float start, int width, float* to);

}  // namespace mpm::kernels

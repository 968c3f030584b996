// Pixels of an image as the right operand of a product. They are cells of 32 bits: an f32, a pair of bf16 or
// a quad of bytes of neighbouring channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpm::kernels {

using Cell = std::uint32_t;

/// Columns of a panel from `lane` of a vector on, until the next run: that of lane l is at offset + l.
struct CellRun {
    int lane;
    std::ptrdiff_t offset;
};

/// The source of a panel's rows: row (plane, tap) of a column is at
/// cells + plane * stride + the column's offset + taps[tap].
struct CellGrid {
    const Cell* cells;
    size_t stride;
    int planes;
    const std::ptrdiff_t* taps;
    int count;  ///< of taps
};

/// panel[plane * count + tap][column]. Each of the panel's two vectors has at least one run, the first from
/// lane 0 on. Whole vectors are read for each run: those before and behind the cells must be readable.
void gatherPanel(const CellGrid& grid, const std::vector<CellRun> (&runs)[2], void* panel);

/// to[x] = start + sum over planes and taps of weights[plane * count + tap] * cells of f32 at x, all
/// `width` x of a row: few rows do not fill a panel. Whole vectors are read.
void sumTaps(const CellGrid& grid, const float* weights, float start, int width, float* to);

}  // namespace mpm::kernels

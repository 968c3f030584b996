// The pixels of an image as the right operand of a product. A cell has 32 bits: an f32, or the values of
// neighbouring channels as a pair of bf16 or a quad of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpm::kernels {

using Cell = std::uint32_t;

/// Neighbouring columns of a vector whose cells are also neighbours in memory: the lanes from `lane` to the
/// start of the next run. The offset of the column in lane l is offset + l.
struct CellRun {
    int lane;
    std::ptrdiff_t offset;
};

/// The cells of a panel. A plane has the cells of one or several channels; a tap is a position of the
/// convolution's weights. The cell of a column in row (plane, tap) of the panel is at
/// cells + plane * stride + taps[tap] + the column's offset.
struct CellGrid {
    const Cell* cells;
    size_t stride;
    int planes;
    const std::ptrdiff_t* taps;
    int count;  ///< number of taps
};

/// Fills panel[plane * count + tap][column]. `runs` has the runs of the two vectors of a panel's row. Each
/// vector must have at least one run, and its first run must begin at lane 0. For each run, gatherPanel()
/// reads a whole vector, so memory before and after the cells must be readable.
void gatherPanel(const CellGrid& grid, const std::vector<CellRun> (&runs)[2], void* panel);

/// Computes to[x] for each x < `width`: `start` plus the sum over all planes and taps of
/// weights[plane * count + tap] * the f32 cell of (plane, tap) at x. Use sumTaps() if the weights have too
/// few rows to fill a row group. Cells must be readable for `width` rounded up to a multiple of four vectors.
void sumTaps(const CellGrid& grid, const float* weights, float start, int width, float* to);

}  // namespace mpm::kernels

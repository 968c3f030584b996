// A band of an image's rows, stored as cells (cells.hpp): the input for a few output rows of a convolution. A
// cell has the values of 1, 2 or 4 neighbouring channels. A plane has the band's cells of these channels.
#pragma once

#include <cstdint>
#include <vector>

#include "mpm_layer/cpu/convolution.hpp"
#include "mpm_layer/kernels/product/cells.hpp"

namespace mpm::cpu {

/// The places of a band's cells. A row of cells consists of strideX() sequences. The first sequence has every
/// strideX()-th pixel from pixel 0 on, the second sequence from pixel 1 on, and so on. So the cells that
/// neighbouring outputs read at the same tap (position of a weight) are neighbours.
class ConvLayout {
public:
    ConvLayout(const ConvShape& shape, int planes);

    int bandRows() const { return m_bandRows; }  ///< number of output rows of a band
    int bands() const { return m_bands; }
    int inputRows() const { return (m_bandRows - 1) * m_strideY + m_reachY; }
    int strideX() const { return m_strideX; }
    int strideY() const { return m_strideY; }
    int phase() const { return m_phase; }  ///< number of cells of a sequence
    size_t row() const { return m_row; }   ///< number of cells of a row
    size_t plane() const { return inputRows() * m_row; }
    const std::vector<std::ptrdiff_t>& taps() const { return m_taps; }
    /// Returns the index, in a plane, of the cell that output (y, x) of a band reads at the first tap.
    std::ptrdiff_t at(int y, int x) const { return y * m_strideY * static_cast<std::ptrdiff_t>(m_row) + x; }

private:
    int m_strideX, m_strideY, m_reachY, m_phase = 0, m_bandRows = 0, m_bands = 0;
    size_t m_row = 0;
    std::vector<std::ptrdiff_t> m_taps;
};

class ConvBand {
public:
    ConvBand(const ConvShape& shape, const ConvLayout& layout, Precision precision, int planes);

    /// Fills the band that begins at output row `top` with planes first..first+planes of a group.
    /// `channels` has the group's pixels. If `rectified` is true, negative pixels are read as zero.
    void fill(const float* channels, bool rectified, int top, int first, int planes);

    /// Returns the largest absolute value, or NaN if a value is not finite. Must be called only in int8.
    float largest() const { return m_largest; }
    kernels::CellGrid cells() const;
    kernels::CellGrid sums() const;  ///< for each place, the sum of the bytes of all planes

private:
    bool joinsLines() const;
    const float* pixels(int channel, int y, int lines);
    void measure(int begin, int end);
    void fillLines(int y, int lines, int line);
    void convert(const float* const (&rows)[4], int width, kernels::Cell* to, std::int32_t* sums) const;
    void spread(const kernels::Cell* line, kernels::Cell* to) const;

    const ConvShape& m_shape;
    const ConvLayout& m_layout;
    const Precision m_precision;
    int m_width;                ///< number of pixels that are read from a line
    int m_first = 0, m_planes;  ///< first plane and number of planes, within a group
    const float* m_channels = nullptr;
    bool m_rectified = false;
    float m_largest = 0;
    kernels::Buffer m_memory, m_line, m_rectifiedLines[4];
    kernels::Cell* m_cells;
};

}  // namespace mpm::cpu

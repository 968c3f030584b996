#include "mpm_layer/cpu/conv_band.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"

namespace mpm::cpu {
namespace {

using kernels::Cell;

// Number of cells that must be readable before the first cell and after the last cell, because kernels read
// whole vectors.
constexpr size_t kMargin = 128;
constexpr size_t kMostCells = size_t{1} << 28;
// A band should fit in the level-2 cache, and an image should have at least kBands bands. But a band with
// fewer than kBandPixels output pixels would be too little work for a thread.
constexpr size_t kBandCells = size_t{1} << 17;
constexpr int kBandPixels = 128, kBands = 8;

int bandRowsOf(const ConvShape& shape, int stride, size_t planes, size_t row) {
    const int rows = shape.y.outputs();
    const size_t budget = kBandCells / std::max<size_t>(1, planes * row);
    const size_t reach = static_cast<size_t>(shape.y.reach());
    const int fitting =
        budget > reach ? static_cast<int>(std::min<size_t>(rows, (budget - reach) / stride + 1)) : 1;
    const int least = divideUp(kBandPixels, std::max(1, shape.x.outputs()));
    return std::clamp(std::min(fitting, divideUp(rows, kBands)), std::min(least, rows), std::max(1, rows));
}

}  // namespace

ConvLayout::ConvLayout(const ConvShape& shape, int planes)
    // If a row or column has a single output, the stride is not used.
    : m_strideX(shape.x.outputs() > 1 ? shape.x.stride : 1),
      m_strideY(shape.y.outputs() > 1 ? shape.y.stride : 1),
      m_reachY(shape.y.reach()) {
    const int width = (shape.x.outputs() - 1) * m_strideX + shape.x.reach();  // fits: a padded row
    m_phase = divideUp(width, m_strideX);
    m_row = checkedProduct<size_t>(m_phase, m_strideX);
    const size_t all = checkedProduct<size_t>(planes + 1, m_row);
    m_bandRows = bandRowsOf(shape, m_strideY, planes, m_row);
    m_bands = divideUp(shape.y.outputs(), m_bandRows);
    if (checkedProduct<size_t>(all, inputRows()) > kMostCells)
        CV_Error(cv::Error::StsOutOfRange, "mpm: the windows of a convolution cover too many pixels");
    for (int i = 0; i < shape.y.kernel; ++i) {
        for (int j = 0; j < shape.x.kernel; ++j) {
            const int x = j * shape.x.dilation;  // fits: within the reach
            m_taps.push_back(static_cast<std::ptrdiff_t>(i) * shape.y.dilation *
                                 static_cast<std::ptrdiff_t>(m_row) +
                             static_cast<std::ptrdiff_t>(x % m_strideX) * m_phase + x / m_strideX);
        }
    }
}

ConvBand::ConvBand(const ConvShape& shape, const ConvLayout& layout, Precision precision, int planes)
    : m_shape(shape),
      m_layout(layout),
      m_precision(precision),
      m_width(layout.phase() * layout.strideX() - shape.x.before),  // fits: a row of cells
      m_planes(planes) {
    m_width = std::clamp(m_width, 0, shape.x.size);
    const size_t all = checkedProduct<size_t>(planes + 1, layout.plane()) + 2 * kMargin;
    float* const memory = m_memory.reserve(all);
    std::fill_n(memory, all, 0.f);
    m_cells = reinterpret_cast<Cell*>(memory) + kMargin;
}

kernels::CellGrid ConvBand::cells() const {
    return {m_cells, m_layout.plane(), m_planes, m_layout.taps().data(), m_shape.taps()};
}

kernels::CellGrid ConvBand::sums() const {
    return {m_cells + m_planes * m_layout.plane(), 0, 1, m_layout.taps().data(), m_shape.taps()};
}

// Returns whether lines of pixels follow each other without padding, and thus can be filled as a single line.
bool ConvBand::joinsLines() const {
    return m_shape.x.before == 0 && m_layout.strideX() == 1 &&
           m_layout.row() == static_cast<size_t>(m_shape.x.size);
}

void ConvBand::fill(const float* channels, bool rectified, int top, int firstPlane, int planes) {
    m_channels = channels;
    m_rectified = rectified;
    m_first = firstPlane;
    m_planes = planes;
    const int first = top * m_layout.strideY() - m_shape.y.before;  // fits: a padded row
    const int begin = std::clamp(first, 0, m_shape.y.size),
              end = std::clamp(first + m_layout.inputRows(), 0, m_shape.y.size);
    if (m_precision == Precision::I8) measure(begin, end);
    const auto clear = [&](int from, int to) {
        for (int plane = 0; plane <= m_planes && from < to; ++plane)
            std::fill(m_cells + plane * m_layout.plane() + from * m_layout.row(),
                      m_cells + plane * m_layout.plane() + to * m_layout.row(), Cell{0});
    };
    clear(0, begin - first);
    clear(std::max(end - first, begin - first), m_layout.inputRows());
    const int step = joinsLines() ? std::max(1, end - begin) : 1;
    for (int y = begin; y < end; y += step)
        fillLines(y, step, y - first);
}

const float* ConvBand::pixels(int channel, int y, int lines) {
    const int count = lines == 1 ? m_width : lines * m_width;  // fits: a part of the image
    const float* from = m_channels + (static_cast<size_t>(channel) * m_shape.y.size + y) * m_shape.x.size;
    if (!m_rectified) return from;
    float* const to = m_rectifiedLines[channel % 4].reserve(count);
    kernels::activate(kernels::Activation::Relu, from, count, to);
    return to;
}

void ConvBand::measure(int begin, int end) {
    const int step = m_width == m_shape.x.size ? std::max(1, end - begin) : 1;
    m_largest = 0;
    const int each = valuesOf(m_precision);                                          // channels of a plane
    const int last = std::min((m_first + m_planes) * each, m_shape.channelsEach());  // fits: rows of weights
    for (int c = m_first * each; c < last; ++c) {
        for (int y = begin; y < end; y += step) {
            const float here =
                kernels::largestMagnitude(pixels(c, y, step), m_width * step);  // fits: a part of the image
            if (!(here <= m_largest)) m_largest = here;                         // also if `here` is NaN
            if (std::isnan(m_largest)) return;
        }
    }
}

// Fills the cells of all channels for a line of the image, or for several joined lines.
void ConvBand::fillLines(int y, int lines, int line) {
    const int width = m_width * lines;       // fits: a part of the image
    const int each = valuesOf(m_precision);  // channels of a plane
    const bool direct = m_layout.strideX() == 1;
    const size_t before = static_cast<size_t>(m_shape.x.before), row = m_layout.row();
    const auto at = [&](int plane) { return m_cells + plane * m_layout.plane() + line * row; };
    Cell* const scratch = direct ? nullptr : reinterpret_cast<Cell*>(m_line.reserve(2 * (row + kMargin)));
    Cell* const lineSums = direct ? at(m_planes) : scratch + row + kMargin;
    if (!direct) std::fill_n(scratch, 2 * (row + kMargin), Cell{0});
    if (each == 4) std::fill_n(lineSums, row * lines, Cell{0});
    for (int plane = 0; plane < m_planes; ++plane) {
        Cell* const to = direct ? at(plane) : scratch;
        const float* rows[4] = {};
        const int channel = (m_first + plane) * each;  // fits: rows of weights
        for (int k = 0; k < each && channel + k < m_shape.channelsEach(); ++k)
            rows[k] = pixels(channel + k, y, lines);
        convert(rows, width, to + before, reinterpret_cast<std::int32_t*>(lineSums + before));
        if (!direct) spread(scratch, at(plane));
    }
    if (each == 4 && !direct) spread(lineSums, at(m_planes));
}

void ConvBand::convert(const float* const (&rows)[4], int width, Cell* to, std::int32_t* sums) const {
    if (m_precision == Precision::F32) {
        std::copy_n(rows[0], width, reinterpret_cast<float*>(to));
    } else if (m_precision == Precision::BF16) {
        kernels::interleaveRows(rows[0], rows[1], width, to);
    } else {
        kernels::interleaveQuads(rows, width, m_largest, to, sums);
    }
}

void ConvBand::spread(const Cell* line, Cell* to) const {
    const int stride = m_layout.strideX();
    for (int phase = 0; phase < stride; ++phase, to += m_layout.phase()) {
        for (int k = 0; k < m_layout.phase(); ++k)
            to[k] = line[static_cast<size_t>(k) * stride + phase];
    }
}

}  // namespace mpm::cpu

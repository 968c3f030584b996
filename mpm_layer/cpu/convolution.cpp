#include "mpm_layer/cpu/convolution.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/cpu/conv_band.hpp"
#include "mpm_layer/cpu/winograd.hpp"

namespace mpm::cpu {
namespace {

constexpr int kFewOuts = 4;       // fewer outputs per group of channels would not fill a row group
constexpr int kCellsOfTile = 16;  // depth of an AMX tile, in cells
constexpr size_t kTileBytes = size_t{1} << 20, kRowBytes = size_t{1} << 19;
// The depth of a block, in cells, at which a tile's panels and some rows of weights fit in the level-2 cache.
constexpr int kBlockCells = 576;
constexpr size_t kMostPanels = 16;
constexpr int kRows = 96;  // a multiple of the rows of a row group and of an AMX tile

bool sumsByRow(const ConvShape& shape) {
    return shape.outsEach() < kFewOuts;
}

/// Returns the number of planes of a block. If there are several blocks, they are as equal as possible, but
/// each block except the last has a multiple of kCellsOfTile planes.
int blockPlanesOf(const ConvShape& shape, int planes) {
    const int most = std::max(kCellsOfTile, kBlockCells / shape.taps() / kCellsOfTile * kCellsOfTile);
    if (sumsByRow(shape) || planes <= most) return planes;
    return roundUp(divideUp(planes, divideUp(planes, most)), kCellsOfTile);
}

// The inputs of a tile of output pixels, packed as the right operand of a product, in any precision.
class Tile {
public:
    Tile(const ConvWeights& weights, const ConvLayout& layout, const ConvShape& shape)
        : m_weights(weights), m_layout(layout), m_outputs(shape.x.outputs()) {}

    /// Gathers the inputs of `count` output pixels of the band, from pixel `first`, in panels that are
    /// `cells` cells deep.
    void gather(const ConvBand& band, int cells, int first, int count) {
        const Precision precision = m_weights.precision();
        const int depth = cells * valuesOf(precision),
                  width = kernels::panelColumns();  // fits: depth <= a row of weights
        m_cells = cells;
        m_columns = count;
        if (precision == Precision::F32) m_right.floats.reshape(depth, count);
        if (precision == Precision::BF16) m_right.pairs.reshape(depth, count);
        if (precision == Precision::I8) m_right.quads.reshape(depth, count);
        for (int p = 0; p * width < count; ++p) {
            placeRuns(first + p * width);
            const int here = std::min(width, count - p * width);
            if (precision == Precision::F32) gatherPanel(band, m_right.floats.panel(p));
            if (precision == Precision::BF16) gatherPanel(band, m_right.pairs.panel(p));
            if (precision == Precision::I8) {
                gatherPanel(band, m_right.quads.panel(p));
                setColumns(band, p * width, here);
            }
        }
    }

    int columns() const { return m_columns; }

    /// Multiplies `rows` rows of the weights, from row `row`, with the tile.
    void multiply(const LeftRows& weights, int row, int rows, const kernels::Epilogue& epilogue, float* to,
                  size_t stride) const {
        m_right.multiply(weights, row, rows, epilogue, to, stride);
    }

private:
    // Finds the runs of a panel: outputs whose cells are neighbours.
    void placeRuns(int pixel) {
        const int lanes = kernels::panelColumns() / 2;
        for (int v = 0; v < 2; ++v) {
            m_runs[v].clear();
            for (int lane = 0; lane < lanes;) {
                const int y = pixel / m_outputs, x = pixel % m_outputs;
                m_runs[v].push_back({lane, m_layout.at(std::min(y, m_layout.bandRows() - 1), x) - lane});
                const bool joined = m_layout.at(1, 0) == m_outputs;
                const int here = joined ? lanes : std::min(m_outputs - x, lanes - lane);
                lane += here;
                pixel += here;
            }
        }
    }

    void gatherPanel(const ConvBand& band, void* panel) const {
        const kernels::CellGrid grid = band.cells();
        kernels::gatherPanel(grid, m_runs, panel);
        const size_t width = kernels::panelColumns(), filled = static_cast<size_t>(grid.planes) * grid.count;
        std::fill_n(static_cast<kernels::Cell*>(panel) + filled * width, (m_cells - filled) * width,
                    kernels::Cell{0});
    }

    void setColumns(const ConvBand& band, int first, int count) {
        const kernels::CellGrid grid = band.sums();
        const int width = kernels::panelColumns();
        m_tapSums.resize(static_cast<size_t>(grid.count + 1) * width);
        std::int32_t* const sums = m_tapSums.data();
        kernels::gatherPanel(grid, m_runs, sums + width);
        std::fill_n(sums, width, 0);
        for (int tap = 1; tap <= grid.count; ++tap) {
            for (int n = 0; n < width; ++n)
                sums[n] += sums[tap * width + n];
        }
        m_right.quads.setColumns(first, count, band.largest(), sums);
    }

    const ConvWeights& m_weights;
    const ConvLayout& m_layout;
    const int m_outputs;  ///< outputs of a row
    int m_cells = 0, m_columns = 0;
    std::vector<kernels::CellRun> m_runs[2];
    std::vector<std::int32_t> m_tapSums;
    RightColumns m_right;
};

class Convolution {
public:
    Convolution(const ConvShape& shape, const ConvWeights& weights, const ConvEnd& end, float* output)
        : m_shape(shape),
          m_weights(weights),
          m_end(end),
          m_output(output),
          m_layout(shape, weights.blocks().front().planes),
          m_pixels(static_cast<size_t>(shape.pixels())) {}

    void run(const float* images, bool rectified) const {
        const int parts = partsOf(), bands = m_layout.bands() * parts, groups = m_shape.groups * bands;
        const size_t plane = static_cast<size_t>(m_shape.y.size) * m_shape.x.size;
        parallelRanges(checkedProduct<int>(m_shape.images, groups), [&](const cv::Range& range) {
            ConvBand band(m_shape, m_layout, m_weights.precision(), m_weights.blocks().front().planes);
            Tile tile(m_weights, m_layout, m_shape);
            for (int k = range.start; k < range.end; ++k) {
                const Task task{k / groups, k % groups / bands, k % bands / parts * m_layout.bandRows(),
                                k % parts, parts};
                const size_t channel = static_cast<size_t>(task.image) * m_shape.channels +
                                       static_cast<size_t>(task.group) * m_shape.channelsEach();
                for (const ConvBlock& block : m_weights.blocks()) {
                    band.fill(images + channel * plane, rectified, task.top, block.firstPlane, block.planes);
                    sumsByRow(m_shape) ? sumRows(band, task) : multiply(band, tile, task, block);
                }
            }
        });
    }

private:
    struct Task {
        int image, group, top, part, parts;
    };

    // Returns the number of parts into which the rows of weights are divided: more than 1 if there are few
    // bands, so that all threads have work.
    int partsOf() const {
        const int tasks = m_shape.images * m_shape.groups * m_layout.bands();
        const int wanted = 2 * cv::getNumThreads() / std::max(1, tasks);
        return std::clamp(wanted, 1, std::max(1, m_shape.outsEach() / kRows));
    }

    size_t channelOf(const Task& task, int row) const {
        return static_cast<size_t>(task.image) * m_shape.outs +
               static_cast<size_t>(task.group) * m_shape.outsEach() + row;
    }

    int pixelsOf(const Task& task) const {
        return std::min(m_layout.bandRows(), m_shape.y.outputs() - task.top) * m_shape.x.outputs();
    }

    void multiply(const ConvBand& band, Tile& tile, const Task& task, const ConvBlock& block) const {
        const int width = kernels::panelColumns(), pixels = pixelsOf(task);
        const size_t panel = static_cast<size_t>(block.cells) * width * sizeof(kernels::Cell);
        const size_t row = block.cells * sizeof(kernels::Cell);
        const int panels = static_cast<int>(std::clamp<size_t>(kTileBytes / panel, 1, kMostPanels));
        const int tiles = divideUp(pixels, panels * width), step = roundUp(divideUp(pixels, tiles), width);
        const int share = roundUp(divideUp(m_shape.outsEach(), task.parts), kRows);
        const int begin = share * task.part, end = std::min(begin + share, m_shape.outsEach());
        const int chunk = std::max(kRows, static_cast<int>(kRowBytes / row) / kRows * kRows);
        for (int first = 0; first < pixels; first += step) {
            tile.gather(band, block.cells, first, std::min(step, pixels - first));
            for (int r = begin; r < end; r += chunk)
                finish(tile, task, block, r, std::min(chunk, end - r), first);
        }
    }

    // Multiplies `rows` rows of a block, and adds the products to the sums of earlier blocks in the output.
    void finish(const Tile& tile, const Task& task, const ConvBlock& block, int row, int rows,
                int first) const {
        const bool begins = &block == &m_weights.blocks().front(),
                   ends = &block == &m_weights.blocks().back();
        const int weight = task.group * m_shape.outsEach() + row;
        const size_t at =
            channelOf(task, row) * m_pixels + static_cast<size_t>(task.top) * m_shape.x.outputs() + first;
        const float* const residual = m_end.residual ? m_end.residual + at : nullptr;
        kernels::Epilogue epilogue;
        epilogue.residualStride = m_pixels;
        epilogue.residualLast = m_end.residualLast && begins && ends;
        if (begins && (ends || !m_end.residualLast)) epilogue.residual = residual;
        if (ends) {
            epilogue.rowBias = m_end.bias ? m_end.bias + weight : nullptr;
            epilogue.activation = m_end.activation;
            if (!begins) epilogue.residual = m_output + at;
        } else {
            epilogue.add = !begins;
        }
        tile.multiply(*block.rows, weight, rows, epilogue, m_output + at, m_pixels);
        if (ends && !begins && residual && m_end.residualLast)
            addRows(residual, rows, tile.columns(), m_output + at);
    }

    void addRows(const float* from, int rows, int columns, float* to) const {
        for (int r = 0; r < rows; ++r, from += m_pixels, to += m_pixels) {
            for (int k = 0; k < columns; ++k)
                to[k] += from[k];
        }
    }

    void sumRows(const ConvBand& band, const Task& task) const {
        const int width = m_shape.x.outputs(), rows = pixelsOf(task) / width;
        const LeftRows& weights = *m_weights.blocks().front().rows;
        for (int c = 0; c < m_shape.outsEach(); ++c) {
            const int weight = task.group * m_shape.outsEach() + c;
            for (int y = 0; y < rows; ++y) {
                kernels::CellGrid grid = band.cells();
                grid.cells += m_layout.at(y, 0);
                const size_t at = channelOf(task, c) * m_pixels + static_cast<size_t>(task.top + y) * width;
                kernels::sumTaps(grid, weights.floats() + weight * weights.stride(),
                                 m_end.bias ? m_end.bias[weight] : 0, width, m_output + at);
                finishRow(at, width);
            }
        }
    }

    void finishRow(size_t at, int width) const {
        float* const to = m_output + at;
        if (m_end.residual && !m_end.residualLast) addRows(m_end.residual + at, 1, width, to);
        kernels::activate(m_end.activation, to, width, to);
        if (m_end.residual && m_end.residualLast) addRows(m_end.residual + at, 1, width, to);
    }

    const ConvShape& m_shape;
    const ConvWeights& m_weights;
    const ConvEnd& m_end;
    float* const m_output;
    const ConvLayout m_layout;
    const size_t m_pixels;
};

}  // namespace

void checkShape(const ConvShape& shape) {
    ConvLayout(shape, blockPlanesOf(shape, shape.channelsEach()));
}

bool losesTooMuch(const float* weights, int outs, int depth) {
    const cv::Mat rows(outs, depth, CV_32F, const_cast<float*>(weights)), columns = rows.t();
    return !(kernels::lossOfI8(columns.ptr<float>(), outs, depth, outs) <= kLargestI8Loss);
}

ConvWeights::ConvWeights(const float* weights, const ConvShape& shape, Precision precision, Source source)
    : m_precision(precision) {
    if (sumsByRow(shape) || (precision == Precision::I8 && losesTooMuch(weights, shape.outs, shape.depth())))
        m_precision = Precision::F32;
    if (source == Source::Kept) m_source = weights;
    if (m_source && suitsWinograd(shape, m_precision))
        m_winograd = std::make_shared<const WinogradWeights>(weights, shape);
    else
        pack(weights, shape);
}

bool ConvWeights::fit(const ConvShape& shape) const {
    return (m_source && suitsWinograd(shape, m_precision)) == (m_winograd != nullptr);
}

void ConvWeights::pack(const float* weights, const ConvShape& shape) {
    const int values = valuesOf(m_precision), taps = shape.taps(), channels = shape.channelsEach();
    const int planes = (channels + values - 1) / values, blockPlanes = blockPlanesOf(shape, planes);
    int cells = checkedProduct<int>(planes, taps);
    if (m_precision != Precision::F32 && kernels::multipliesInTiles()) cells = roundUp(cells, kCellsOfTile);
    // For each group of channels, products read whole row groups and whole tiles, so products may read beyond
    // the last row of weights. Adds rows for these reads.
    const int rows = shape.groups > 1 ? checkedSum<int>(shape.outs, kRows) : shape.outs;
    for (int first = 0; first < planes; first += blockPlanes) {
        const int firstCell = first * taps;  // fits: part of a row
        ConvBlock& block = m_blocks.emplace_back();
        block.firstPlane = first;
        block.planes = std::min(blockPlanes, planes - first);
        block.cells =
            first + blockPlanes < planes ? blockPlanes * taps : cells - firstCell;  // fits: part of a row
        block.rows.emplace(block.memory, m_precision, rows, checkedProduct<int>(block.cells, values),
                           std::nullopt, kernels::Finer::Right);
    }
    kernels::Buffer memory;
    LeftRows whole(memory, m_precision, 1, checkedProduct<int>(cells, values), std::nullopt,
                   kernels::Finer::Right);
    for (int row = 0; row < shape.outs; ++row) {
        const float* const from = weights + static_cast<size_t>(row) * shape.depth();
        whole.fill(0, [&](float* to) {
            std::fill_n(to, static_cast<size_t>(cells) * values, 0.f);
            for (int c = 0; c < channels; ++c) {
                for (int tap = 0; tap < taps; ++tap)
                    to[(static_cast<size_t>(c / values) * taps + tap) * values + c % values] =
                        from[static_cast<size_t>(c) * taps + tap];
            }
        });
        for (ConvBlock& block : m_blocks)
            block.rows->copy(row, whole, block.firstPlane * taps, block.cells);  // fits: part of a row
    }
}

void convolve(const float* images, bool rectified, const ConvShape& shape, const ConvWeights& weights,
              const ConvEnd& end, float* output) {
    if (shape.images == 0) return;
    if (!weights.winograd()) return Convolution(shape, weights, end, output).run(images, rectified);
    const std::vector<int> leftOut =
        convolveByWinograd(images, rectified, shape, *weights.winograd(), end, output);
    if (leftOut.empty()) return;
    const ConvWeights plain(weights.source(), shape, Precision::F32);
    ConvShape single = shape;
    single.images = 1;
    const size_t in = static_cast<size_t>(shape.channels) * shape.y.size * shape.x.size,
                 out = static_cast<size_t>(shape.outs) * shape.pixels();
    for (const int image : leftOut) {
        ConvEnd own = end;
        if (end.residual) own.residual += image * out;
        Convolution(single, plain, own, output + image * out).run(images + image * in, rectified);
    }
}

}  // namespace mpm::cpu

#include "mpm_layer/decoder/mask_labels.hpp"

#include <algorithm>
#include <cmath>

#include "base/loops.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/upsample.hpp"

namespace mpm::decoder {
namespace {

// The size of a tile. With this many rows, most rows of the masks are used several times. With so few
// columns, the masks and scores of the columns fit in a level-2 cache.
constexpr int kTileRows = 64, kTileColumns = 128;
constexpr int kTileFloats = 1 << 18;

int tileColumnsFor(const MaskLabelsShape& shape) {
    const int panel = kernels::panelColumns();
    const std::int64_t rows = 3 * static_cast<std::int64_t>(shape.queries) + 3 * shape.classes;
    const int columns = static_cast<int>(std::min<std::int64_t>(kTileFloats / rows, kTileColumns));
    return std::max(columns / panel * panel, panel);
}

int inParts(int whole, int part) {
    return (whole + part - 1) / part;
}

}  // namespace

// The temporary memory of a thread. `rows` has the data of two rows of the masks: the scores of all classes
// if m_sigmoidFirst is true, else the stretched masks of all queries.
struct MaskLabels::Scratch {
    struct Row {
        int index = -1;
        kernels::Buffer data;
    };
    Row rows[2];
    kernels::Buffer gathered, scores, best;
    kernels::PackedWeights packed;
    std::vector<int> labels;

    static Scratch& ofThread() {
        static thread_local Scratch scratch;
        return scratch;
    }
};

MaskLabels::MaskLabels(const MaskLabelsShape& shape, bool sigmoidFirst)
    : m_shape(shape),
      m_sigmoidFirst(sigmoidFirst),
      m_down(kernels::bilinearTaps(shape.masks.height, shape.image.height, false)),
      m_across(kernels::bilinearRuns(shape.masks.width, shape.image.width, false)),
      m_tileColumns(tileColumnsFor(shape)),
      m_tilesDown(inParts(shape.image.height, kTileRows)),
      m_tilesAcross(inParts(shape.image.width, m_tileColumns)),
      m_probabilityStride(kernels::paddedStride(shape.queries)) {}

MaskLabels::Tile MaskLabels::tile(int index) const {
    const int row = index / m_tilesAcross * kTileRows, column = index % m_tilesAcross * m_tileColumns;
    return {cv::Range(row, std::min(row + kTileRows, m_shape.image.height)), column,
            std::min(m_tileColumns, m_shape.image.width - column)};
}

MaskLabels::Columns MaskLabels::columnsOf(const Tile& tile) const {
    Columns columns;
    columns.runs = kernels::slice(m_across, tile.column, tile.column + tile.columns);
    std::vector<int>& sources = columns.sources;
    if (!m_sigmoidFirst) return columns;
    for (const kernels::Run& run : columns.runs.runs) {
        sources.push_back(run.index);
        sources.push_back(run.next);
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    const auto place = [&](int column) {
        return static_cast<int>(std::lower_bound(sources.begin(), sources.end(), column) - sources.begin());
    };
    for (kernels::Run& run : columns.runs.runs) {
        run.index = place(run.index);
        run.next = place(run.next);
    }
    return columns;
}

// Computes the softmax over all classes. Does not store the probability of the last class, "no object".
void MaskLabels::setProbabilities(const float* logits) {
    const size_t size = kernels::paddedSize(m_shape.classes, m_probabilityStride);
    float* const to = m_probabilities.reserve(size);
    std::fill_n(to, size, 0.0f);
    std::vector<double> powers(m_shape.classes + 1);
    for (int q = 0; q < m_shape.queries; ++q, logits += powers.size()) {
        const double highest = *std::max_element(logits, logits + powers.size());
        double sum = 0;
        for (size_t c = 0; c < powers.size(); ++c)
            sum += powers[c] = std::exp(logits[c] - highest);
        for (int c = 0; c < m_shape.classes; ++c)
            to[c * m_probabilityStride + q] = static_cast<float>(powers[c] / sum);
    }
}

void MaskLabels::stretchMasks(const Columns& columns, int row, float* to) const {
    const auto plane = static_cast<size_t>(m_shape.masks.area());  // fits: two sizes of an input
    const float* from = m_masks + static_cast<size_t>(row) * m_shape.masks.width;
    for (int q = 0; q < m_shape.queries; ++q)
        kernels::stretchRow(from + q * plane, columns.runs, to + static_cast<size_t>(q) * m_tileColumns);
}

void MaskLabels::scoreMasks(const Columns& columns, int row, Scratch& scratch, float* to) const {
    const auto plane = static_cast<size_t>(m_shape.masks.area());
    const size_t width = columns.sources.size();
    const float* from = m_masks + static_cast<size_t>(row) * m_shape.masks.width;
    float* const gathered = scratch.gathered.reserve(m_shape.queries * width);
    for (int q = 0; q < m_shape.queries; ++q)
        std::transform(columns.sources.begin(), columns.sources.end(), gathered + q * width,
                       [&](int column) { return from[q * plane + column]; });
    scratch.packed.reshape(m_shape.queries, static_cast<int>(width));
    kernels::packSigmoid(gathered, gathered, width, 0, scratch.packed);
    kernels::product(m_probabilities.data(), m_probabilityStride, m_shape.classes, scratch.packed, {}, to,
                     width);
}

const float* MaskLabels::sourceRow(const Columns& columns, int row, int other, Scratch& scratch) const {
    Scratch::Row* const rows = scratch.rows;
    for (int i = 0; i < 2; ++i)
        if (rows[i].index == row) return rows[i].data.data();
    Scratch::Row& fresh = rows[rows[0].index == other ? 1 : 0];
    fresh.index = row;
    if (m_sigmoidFirst) {
        float* const to = fresh.data.reserve(m_shape.classes * columns.sources.size());
        scoreMasks(columns, row, scratch, to);
    } else {
        stretchMasks(columns, row, fresh.data.reserve(static_cast<size_t>(m_shape.queries) * m_tileColumns));
    }
    return fresh.data.data();
}

void MaskLabels::labelRow(const Tile& tile, const Columns& columns, int row, Scratch& scratch) const {
    const kernels::Tap& tap = m_down[row];
    const float* const low = sourceRow(columns, tap.index, tap.next, scratch);
    const float* const high = sourceRow(columns, tap.next, tap.index, scratch);
    const size_t width = m_sigmoidFirst ? columns.sources.size() : m_tileColumns;
    float* const scores = scratch.scores.reserve(m_shape.classes * width);
    float* const best = scratch.best.reserve(m_tileColumns);
    if (m_sigmoidFirst) {
        for (size_t i = 0; i < m_shape.classes * width; ++i)
            scores[i] = low[i] + tap.weight * (high[i] - low[i]);
        kernels::stretchArgmax(scores, width, m_shape.classes, columns.runs, scratch.labels.data(), best);
        return;
    }
    scratch.packed.reshape(m_shape.queries, tile.columns);
    kernels::packSigmoid(low, high, width, tap.weight, scratch.packed);
    kernels::product(m_probabilities.data(), m_probabilityStride, m_shape.classes, scratch.packed, {}, scores,
                     width);
    kernels::argmaxRows(scores, width, m_shape.classes, tile.columns, scratch.labels.data(), best);
}

void MaskLabels::run(const float* masks, const float* logits, const Write& write) {
    m_masks = masks;
    setProbabilities(logits);
    parallelFor(
        m_tilesDown * m_tilesAcross,
        [&](int index) {
            const Tile part = tile(index);
            const Columns columns = columnsOf(part);
            Scratch& scratch = Scratch::ofThread();
            for (Scratch::Row& row : scratch.rows)
                row.index = -1;
            scratch.labels.resize(m_tileColumns);
            for (int row = part.rows.start; row < part.rows.end; ++row) {
                labelRow(part, columns, row, scratch);
                write(row, part.column, part.columns, scratch.labels.data(), scratch.best.data());
            }
        },
        1);
}

}  // namespace mpm::decoder

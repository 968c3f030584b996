#include "mpm_layer/decoder/deformable.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "base/loops.hpp"

namespace mpm::decoder {
namespace {

// Samples of a tile: enough to fill vectors, and few enough that their corners stay in a level-1 cache.
constexpr int kTileSamples = 256, kMostTileQueries = 64;
// Tiles that neighbours in a loop share: neighbouring queries sample the same part of a level.
constexpr int kQueryGrain = 4;

}  // namespace

struct Deformable::Scratch {
    kernels::Buffer x, y, work;

    static Scratch& ofThread() {
        static thread_local Scratch scratch;
        return scratch;
    }
};

Deformable::Deformable(const DeformableShape& shape)
    : m_shape(shape),
      m_samples(checkedProduct<int>(shape.levels.size(), shape.points)),
      m_tile(std::clamp(kTileSamples / m_samples, 1, kMostTileQueries)) {
    const size_t room = kernels::deformableRoom(checkedProduct<size_t>(m_tile, m_samples));
    for (std::vector<float>* sizes : {&m_columns, &m_rows})
        sizes->reserve(room);
    const int width = checkedProduct<int>(shape.heads, shape.headSize);
    for (int q = 0; q < m_tile; ++q) {
        int start = 0;
        for (const cv::Size& level : shape.levels) {
            m_columns.insert(m_columns.end(), shape.points, static_cast<float>(level.width));
            m_rows.insert(m_rows.end(), shape.points, static_cast<float>(level.height));
            m_pitch.insert(m_pitch.end(), shape.points, checkedProduct<int>(level.width, width));
            m_start.insert(m_start.end(), shape.points, start);
            start = checkedSum<int>(start, checkedProduct<int>(level.width, level.height, width));
        }
    }
    m_columns.resize(room);
    m_rows.resize(room);
    m_pitch.resize(room);
    m_start.resize(room);
}

void Deformable::place(const float* reference, int queries, Scratch& scratch) const {
    const size_t room = kernels::deformableRoom(m_tile * static_cast<size_t>(m_samples));
    float *x = scratch.x.reserve(room), *y = scratch.y.reserve(room);
    std::fill_n(x, room, 0.0f);
    std::fill_n(y, room, 0.0f);
    // Rounded once, so that places far from the map's corner are as exact as a float allows. Infinity is
    // outside of any map, whatever the offset.
    const auto pixel = [](float share, int size) {
        const double place = static_cast<double>(share) * size - 0.5;
        return std::abs(place) <= std::numeric_limits<float>::max() ? static_cast<float>(place)
                                                                    : std::numeric_limits<float>::infinity();
    };
    for (int q = 0; q < queries; ++q) {
        for (const cv::Size& level : m_shape.levels) {
            std::fill_n(x, m_shape.points, pixel(reference[0], level.width));
            std::fill_n(y, m_shape.points, pixel(reference[1], level.height));
            x += m_shape.points;
            y += m_shape.points;
            if (m_shape.referencePerLevel) reference += 2;
        }
        if (!m_shape.referencePerLevel) reference += 2;
    }
}

void Deformable::runTile(const Image& image, int first, int queries, Scratch& scratch) const {
    const size_t width = static_cast<size_t>(m_shape.heads) * m_shape.headSize,
                 samples = static_cast<size_t>(m_shape.heads) * m_samples;
    const size_t references = 2 * (m_shape.referencePerLevel ? m_shape.levels.size() : 1);
    place(image.reference + first * references, queries, scratch);
    float* const work =
        scratch.work.reserve(kernels::deformableScratch(m_tile * static_cast<size_t>(m_samples)));
    kernels::DeformableHead head;
    head.step = static_cast<int>(width);
    head.channels = m_shape.headSize;
    head.samples = m_samples;
    head.queries = queries;
    head.logitStride = samples;
    head.offsetStride = 2 * samples;
    head.x = scratch.x.data();
    head.y = scratch.y.data();
    head.columns = m_columns.data();
    head.rows = m_rows.data();
    head.pitch = m_pitch.data();
    head.start = m_start.data();
    head.outStride = width;
    for (int m = 0; m < m_shape.heads; ++m) {
        const size_t sample = first * samples + static_cast<size_t>(m) * m_samples,
                     channel = static_cast<size_t>(m) * m_shape.headSize;
        head.values = image.values + channel;
        head.logits = image.logits + sample;
        head.offsets = image.offsets + 2 * sample;
        head.out = image.out + first * width + channel;
        kernels::deformableHead(head, work);
    }
}

void Deformable::run(const Image& image) const {
    const int tiles = (m_shape.queries - 1) / m_tile + 1;
    parallelFor(
        m_shape.queries > 0 ? tiles : 0,
        [&](int tile) {
            const int first = tile * m_tile;
            runTile(image, first, std::min(m_tile, m_shape.queries - first), Scratch::ofThread());
        },
        kQueryGrain);
}

}  // namespace mpm::decoder

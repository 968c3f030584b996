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
// Tiles that stay together in a loop: neighbouring queries sample the same part of a level.
constexpr int kQueryGrain = 16;

}  // namespace

Deformable::Deformable(const DeformableShape& shape)
    : m_shape(shape),
      m_samples(checkedProduct<int>(shape.levels.size(), shape.points)),
      m_tile(std::clamp(kTileSamples / m_samples, 1, kMostTileQueries)),
      m_positions(0) {
    const size_t room = kernels::deformableRoom(checkedProduct<size_t>(m_tile, m_samples));
    for (std::vector<float>* sizes : {&m_columns, &m_rows})
        sizes->reserve(room);
    for (int q = 0; q < m_tile; ++q) {
        m_positions = 0;
        for (const cv::Size& level : shape.levels) {
            m_columns.insert(m_columns.end(), shape.points, static_cast<float>(level.width));
            m_rows.insert(m_rows.end(), shape.points, static_cast<float>(level.height));
            m_pitch.insert(m_pitch.end(), shape.points, checkedProduct<int>(level.width, shape.headSize));
            m_start.insert(m_start.end(), shape.points, checkedProduct<int>(m_positions, shape.headSize));
            m_positions = checkedSum<int>(m_positions, checkedProduct<int>(level.width, level.height));
        }
    }
    checkedProduct<int>(m_positions, shape.heads, shape.headSize);
    m_columns.resize(room);
    m_rows.resize(room);
    m_pitch.resize(room);
    m_start.resize(room);
}

void Deformable::place(const float* reference, Places& places) const {
    const auto room =
        kernels::deformableRoom(checkedProduct<size_t>(checkedSum<int>(m_shape.queries, m_tile), m_samples));
    float* const allX = places.x.reserve(room);
    float* const allY = places.y.reserve(room);
    const size_t used = static_cast<size_t>(m_shape.queries) * m_samples;
    std::fill(allX + used, allX + room, 0.0f);
    std::fill(allY + used, allY + room, 0.0f);
    // Rounded once, so that places far from the map's corner are as exact as a float allows. Infinity is
    // outside of any map, whatever the offset.
    const auto pixel = [](float share, int size) {
        const double place = static_cast<double>(share) * size - 0.5;
        return std::abs(place) <= std::numeric_limits<float>::max() ? static_cast<float>(place)
                                                                    : std::numeric_limits<float>::infinity();
    };
    const size_t references = 2 * (m_shape.referencePerLevel ? m_shape.levels.size() : 1);
    parallelFor(m_shape.queries, [&](int q) {
        const float* from = reference + q * references;
        float *x = allX + static_cast<size_t>(q) * m_samples, *y = allY + static_cast<size_t>(q) * m_samples;
        for (const cv::Size& level : m_shape.levels) {
            std::fill_n(x, m_shape.points, pixel(from[0], level.width));
            std::fill_n(y, m_shape.points, pixel(from[1], level.height));
            x += m_shape.points;
            y += m_shape.points;
            if (m_shape.referencePerLevel) from += 2;
        }
    });
}

void Deformable::gather(const float* values, int head, float* to) const {
    constexpr int kGrain = 512;  // positions that are worth a turn of a thread
    constexpr int kAhead = 16;   // a head's part of the next position is too far away to be fetched by itself
    const size_t size = m_shape.headSize, width = m_shape.heads * size;
    const float* const from = values + head * size;
    const auto copy = [&](int i) {
        __builtin_prefetch(from + std::min(i + kAhead, m_positions - 1) * width);
        std::copy_n(from + i * width, size, to + i * size);
    };
    parallelFor(m_positions, copy, kGrain);
}

void Deformable::runTile(const Image& image, const Places& places, const float* values, int index,
                         int first) const {
    static thread_local kernels::Buffer scratch;
    float* const work = scratch.reserve(kernels::deformableScratch(m_tile * static_cast<size_t>(m_samples)));
    const size_t width = static_cast<size_t>(m_shape.heads) * m_shape.headSize,
                 samples = static_cast<size_t>(m_shape.heads) * m_samples,
                 channel = static_cast<size_t>(index) * m_shape.headSize,
                 sample = first * samples + static_cast<size_t>(index) * m_samples;
    kernels::DeformableHead head;
    head.values = values;
    head.step = m_shape.headSize;
    head.channels = m_shape.headSize;
    head.samples = m_samples;
    head.queries = std::min(m_tile, m_shape.queries - first);
    head.logits = image.logits + sample;
    head.logitStride = samples;
    head.offsets = image.offsets + 2 * sample;
    head.offsetStride = 2 * samples;
    head.x = places.x.data() + static_cast<size_t>(first) * m_samples;
    head.y = places.y.data() + static_cast<size_t>(first) * m_samples;
    head.columns = m_columns.data();
    head.rows = m_rows.data();
    head.pitch = m_pitch.data();
    head.start = m_start.data();
    head.out = image.out + first * width + channel;
    head.outStride = width;
    kernels::deformableHead(head, work);
}

void Deformable::run(const Image& image) const {
    if (m_shape.queries == 0) return;
    const int tiles = (m_shape.queries - 1) / m_tile + 1;
    Places places;
    place(image.reference, places);
    // One head after the other: its values fit a level-2 cache where those of all heads do not, but only side
    // by side. In the image they are a power of two apart, and would share a part of the cache's sets.
    kernels::Buffer memory;
    float* const values =
        m_shape.heads > 1 ? memory.reserve(checkedProduct<size_t>(m_positions, m_shape.headSize)) : nullptr;
    for (int head = 0; head < m_shape.heads; ++head) {
        if (values) gather(image.values, head, values);
        parallelFor(
            tiles,
            [&](int tile) { runTile(image, places, values ? values : image.values, head, tile * m_tile); },
            kQueryGrain);
    }
}

}  // namespace mpm::decoder

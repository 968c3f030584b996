#include "mpm_layer/decoder/deformable.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "base/loops.hpp"

namespace mpm::decoder {
namespace {

// A tile has enough samples to fill vectors, but so few that their corners fit in a level-1 cache.
constexpr int kTileSamples = 256, kMostTileQueries = 64;
// The number of tiles of a parallel task. Neighbouring queries sample the same part of a level, so a thread
// computes several neighbouring tiles.
constexpr int kQueryGrain = 16;
// Several heads are packed together if they have at most this many elements in total.
constexpr size_t kTogether = size_t{400} << 10;

}  // namespace

Deformable::Deformable(const DeformableShape& shape)
    : m_shape(shape),
      m_samples(checkedProduct<int>(shape.levels.size(), shape.points)),
      m_tile(std::clamp(kTileSamples / m_samples, 1, kMostTileQueries)) {
    const size_t room = kernels::deformableRoom(checkedProduct<size_t>(m_tile, m_samples));
    for (std::vector<float>* sizes : {&m_columns, &m_rows})
        sizes->reserve(room);
    for (const cv::Size& level : shape.levels)
        addLevel(level);
    checkedProduct<int>(m_positions, shape.heads, shape.headSize);
    // So far, the lists describe only the first query's samples. Repeats these entries for the other queries.
    for (int i = m_samples; i < m_tile * m_samples; ++i) {
        m_columns.push_back(m_columns[i - m_samples]);
        m_rows.push_back(m_rows[i - m_samples]);
        m_pitch.push_back(m_pitch[i - m_samples]);
        m_start.push_back(m_start[i - m_samples]);
    }
    m_columns.resize(room);
    m_rows.resize(room);
    m_pitch.resize(room);
    m_start.resize(room);
}

void Deformable::addLevel(const cv::Size& level) {
    const int pitch = checkedProduct<int>(checkedSum<int>(level.width, 1), m_shape.headSize),
              start = checkedSum<int>(m_packed, pitch, m_shape.headSize);
    m_columns.insert(m_columns.end(), m_shape.points, static_cast<float>(level.width));
    m_rows.insert(m_rows.end(), m_shape.points, static_cast<float>(level.height));
    m_pitch.insert(m_pitch.end(), m_shape.points, pitch);
    m_start.insert(m_start.end(), m_shape.points, start);
    m_packed = checkedSum<int>(m_packed, checkedProduct<int>(checkedSum<int>(level.height, 3), pitch));
    for (int y = 0; y < level.height; ++y)
        m_lines.push_back(
            {m_positions + y * level.width, level.width, start + static_cast<size_t>(y) * pitch});
    m_positions = checkedSum<int>(m_positions, checkedProduct<int>(level.width, level.height));
}

void Deformable::place(const float* reference, Places& places) const {
    const auto room =
        kernels::deformableRoom(checkedProduct<size_t>(checkedSum<int>(m_shape.queries, m_tile), m_samples));
    float* const allX = places.x.reserve(room);
    float* const allY = places.y.reserve(room);
    const size_t used = static_cast<size_t>(m_shape.queries) * m_samples;
    std::fill(allX + used, allX + room, 0.0f);
    std::fill(allY + used, allY + room, 0.0f);
    // Rounds once, so that places far from the corner of the map are as exact as a float allows. A place that
    // is too large for a float becomes infinity, which is outside any map, whatever the offset.
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

void Deformable::pack(const float* values, int head, int count, float* to) const {
    constexpr int kGrain = 8;  // lines that are enough work for a thread
    const size_t size = m_shape.headSize, width = m_shape.heads * size;
    const auto copy = [&](int i) {
        const Line& line = m_lines[i];
        const float* const from = values + line.first * width + head * size;
        for (int k = 0; k < count; ++k) {
            kernels::packPositions(from + k * size, width, m_shape.headSize, line.count,
                                   to + static_cast<size_t>(k) * m_packed + line.packed);
        }
    };
    parallelFor(static_cast<int>(m_lines.size()), copy, kGrain);
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
    head.channels = m_shape.headSize;
    head.samples = m_samples;
    head.queries = std::min(m_tile, m_shape.queries - first);
    head.next = std::min(head.queries, m_shape.queries - first - head.queries);
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
    // Computes a few heads at a time, because the samples of all heads for neighbouring queries do not fit in
    // a level-2 cache. Packs the values of each head: in the image, the positions of a head are often a power
    // of two apart, so their values would compete for only a few sets of the cache.
    const int heads = m_shape.heads,
              together = static_cast<int>(std::clamp<size_t>(kTogether / m_packed, 1, heads));
    kernels::Buffer memory;
    const size_t room = checkedProduct<size_t>(together, m_packed);
    float* const values = memory.reserve(room);
    std::fill_n(values, room, 0.0f);
    for (int head = 0; head < heads; head += together) {
        const int count = std::min(together, heads - head);
        pack(image.values, head, count, values);
        const auto run = [&](int tile) {
            for (int k = 0; k < count; ++k)
                runTile(image, places, values + static_cast<size_t>(k) * m_packed, head + k, tile * m_tile);
        };
        parallelFor(tiles, run, kQueryGrain);
    }
}

namespace {

constexpr int kTile = 256;  // points whose corners are computed before the channels are read

// Two neighbouring pixels along an axis. If a neighbour is outside the map, its weight is 0 and its index is
// that of a pixel inside.
struct Neighbours {
    int low = 0, high = 0;
    float lowWeight = 0, highWeight = 0;
};

struct Corners {
    int at[4];
    float weight[4];
};

class Axis {
public:
    Axis(const GridSampling& sampling, int size) : m_sampling(sampling), m_size(size) {}

    Neighbours at(float share) const {
        double place =
            m_sampling.alignCorners ? (share + 1.0) / 2 * (m_size - 1) : ((share + 1.0) * m_size - 1) / 2;
        if (m_sampling.border) place = place > 0 ? std::min(place, m_size - 1.0) : 0;
        return m_sampling.nearest ? nearest(place) : bilinear(place);
    }

private:
    // Rounds to the nearest pixel; halfway between two pixels, to the even pixel.
    Neighbours nearest(double place) const {
        const double whole = std::nearbyint(place);
        if (!(whole >= 0 && whole < m_size)) return {};
        const int pixel = static_cast<int>(whole);
        return {pixel, pixel, 1, 0};
    }
    Neighbours bilinear(double place) const {
        if (!(place > -1 && place < m_size)) return {};
        const int first = static_cast<int>(std::floor(place));
        const auto part = static_cast<float>(place - first);
        Neighbours pair{std::max(first, 0), std::min(first + 1, m_size - 1), 1 - part, part};
        if (first < 0) pair.lowWeight = 0;
        if (first + 1 >= m_size) pair.highWeight = 0;
        return pair;
    }

    const GridSampling& m_sampling;
    int m_size;
};

// Skips pixels of weight 0, because they may be infinite, and 0 times infinity is NaN.
float sampleOf(const float* plane, const Corners& corners) {
    float sum = 0;
    for (int k = 0; k < 4; ++k)
        if (corners.weight[k] != 0) sum += corners.weight[k] * plane[corners.at[k]];
    return sum;
}

}  // namespace

void gridSample(const GridSampling& sampling, const float* map, int channels, cv::Size size,
                const float* grid, int points, float* out) {
    const Axis across(sampling, size.width), down(sampling, size.height);
    const size_t plane = static_cast<size_t>(size.height) * size.width;
    const auto tile = [&](int index) {
        const int first = index * kTile, count = std::min(kTile, points - first);
        Corners corners[kTile];
        for (int i = 0; i < count; ++i) {
            const float* place = grid + 2 * (static_cast<size_t>(first) + i);
            const Neighbours x = across.at(place[0]), y = down.at(place[1]);
            corners[i] = {{y.low * size.width + x.low, y.low * size.width + x.high,
                           y.high * size.width + x.low, y.high * size.width + x.high},
                          {y.lowWeight * x.lowWeight, y.lowWeight * x.highWeight, y.highWeight * x.lowWeight,
                           y.highWeight * x.highWeight}};
        }
        for (int c = 0; c < channels; ++c) {
            float* to = out + static_cast<size_t>(c) * points + first;
            for (int i = 0; i < count; ++i)
                to[i] = sampleOf(map + c * plane, corners[i]);
        }
    };
    parallelFor(points > 0 ? (points - 1) / kTile + 1 : 0, tile, 1);
}

}  // namespace mpm::decoder

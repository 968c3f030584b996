#include "mpm_layer/decoder/deformable.hpp"

#include <algorithm>
#include <cmath>

#include "base/loops.hpp"

namespace mpm::decoder {
namespace {

constexpr int kTile = 256;  // points whose corners are computed before the channels are read

// Two neighbours along an axis. A weight of 0 stands for a pixel outside, whose place is one inside.
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
    // Halves go to the even pixel.
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

// Pixels of no weight are not multiplied: they may be infinite.
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

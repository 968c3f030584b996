// Deformable attention: every query takes a few samples from each level's map.
#pragma once

#include <vector>

#include <opencv2/core.hpp>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/deformable.hpp"

namespace mpm::decoder {

struct DeformableShape {
    int queries = 0, heads = 0, points = 0;
    int headSize = 0;
    std::vector<cv::Size> levels;  ///< sizes of the levels; levels * points must fit in an int
    bool referencePerLevel = false;
};

class Deformable {
public:
    /// Throws if the number of positions of all levels does not fit in an int.
    explicit Deformable(const DeformableShape& shape);

    /// An image: values [positions, heads * headSize], offsets [queries, heads, levels, points, 2],
    /// logits [queries, heads, levels, points], reference [queries, 1 or levels, 2].
    struct Image {
        const float *values, *offsets, *logits, *reference;
        float* out;  ///< [queries, heads * headSize]
    };
    void run(const Image& image) const;

private:
    /// For each sample of each query: the reference point in pixels, to which the kernel adds the offset.
    struct Places {
        kernels::Buffer x, y;
    };

    void place(const float* reference, Places& places) const;
    /// A row of a level: consecutive positions in the values of an image, and their place in a head's packed
    /// values.
    struct Line {
        int first, count;
        size_t packed;
    };

    void addLevel(const cv::Size& level);
    /// Copies the values of some heads to `to`, which must already have the zeros that
    /// kernels::DeformableHead needs.
    void pack(const float* values, int head, int count, float* to) const;
    void runTile(const Image& image, const Places& places, const float* values, int head, int first) const;

    const DeformableShape m_shape;
    int m_samples;        ///< samples of a query and head
    int m_tile;           ///< queries of a tile
    int m_positions = 0;  ///< number of positions of all levels
    int m_packed = 0;     ///< elements of a head's packed values, with zeros around the levels
    std::vector<Line> m_lines;
    // For each sample of a tile: the size of the sample's level, and the level's place in the packed values.
    std::vector<float> m_columns, m_rows;
    std::vector<std::int32_t> m_pitch, m_start;
};

struct GridSampling {
    bool nearest = false;       ///< false: bilinear
    bool border = false;        ///< places outside the map read the nearest pixel instead of 0
    bool alignCorners = false;  ///< true: -1 and 1 are centres of the outer pixels; false: the map's edges
};

/// Samples an image: map [channels, size], grid [points, x and y in -1..1], out [channels, points]. If a
/// coordinate is NaN, the result is 0; with `border`, the coordinate is read as pixel 0.
void gridSample(const GridSampling& sampling, const float* map, int channels, cv::Size size,
                const float* grid, int points, float* out);

}  // namespace mpm::decoder

// Samples of a map at the places of a grid, as ONNX defines GridSample.
#pragma once

#include <opencv2/core.hpp>

namespace mpm::decoder {

struct GridSampling {
    bool nearest = false;       ///< else bilinear
    bool border = false;        ///< outside, the nearest pixel of the map; else 0
    bool alignCorners = false;  ///< -1 and 1 are centres of pixels; else edges of the map
};

/// One image: map [channels, size], grid [points, x and y in -1..1], out [channels, points]. A place that is
/// NaN counts as 0; with `border` it is row or column 0.
void gridSample(const GridSampling& sampling, const float* map, int channels, cv::Size size,
                const float* grid, int points, float* out);

}  // namespace mpm::decoder

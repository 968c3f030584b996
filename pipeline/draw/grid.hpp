// The place of each patch of a grid on an image of any size.
#pragma once

#include <cstdint>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// The first pixel of cell `index` of `cells`.
inline int cellEdge(int index, int cells, int pixels) {
    return static_cast<int>(std::int64_t(index) * pixels / cells);
}

inline cv::Rect cellRect(int x, int y, cv::Size grid, cv::Size image) {
    const cv::Point from(cellEdge(x, grid.width, image.width), cellEdge(y, grid.height, image.height));
    return {from,
            cv::Point(cellEdge(x + 1, grid.width, image.width), cellEdge(y + 1, grid.height, image.height))};
}

}  // namespace mpm::pipeline

// Which patches went together, as an image.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "pipeline/draw/palette.hpp"

namespace mpm::pipeline {

struct MergeMapStyle {
    enum class Colours {
        Mean,     ///< every cluster in the mean colour of the cluster's patches
        Size,     ///< a single hue, stronger for larger clusters; single patches grey
        Distinct  ///< clusters that touch in different colours; single patches grey
    } colours = Colours::Mean;
    double opacity = 0.6;  ///< of Size and Distinct over the image
    bool outlines = true;  ///< between clusters
};

/// Names and titles of the colours, in the order of the enumerators.
struct MapColoursName {
    const char *key, *title;
};
const std::vector<MapColoursName>& mapColoursNames();

/// image: CV_8UC3. map: CV_32S 1xN, cluster of each image token, ids 0..M-1. grid: tokens across and down.
cv::Mat drawMergeMap(const cv::Mat& image, const cv::Mat& map, cv::Size grid,
                     const MergeMapStyle& style = {});

/// The colour of each cluster in a style. `image` is needed for mean colours only.
Palette clusterColours(const cv::Mat& image, const cv::Mat& map, cv::Size grid,
                       MergeMapStyle::Colours colours);

/// The map before any merge: every token is a cluster.
cv::Mat identityMap(int tokens);

/// Colour of each cluster; grey for single tokens. Deterministic, and clusters that touch differ if
/// the dozen colours allow; a cluster keeps the colour from frame to frame while the first member stays.
Palette clusterColours(const cv::Mat& map, cv::Size grid);

/// How many tokens each cluster holds.
std::vector<int> clusterSizes(const cv::Mat& map);

/// The first pixel of cell `index` of `cells`.
inline int cellEdge(int index, int cells, int pixels) {
    return static_cast<int>(std::int64_t(index) * pixels / cells);
}

inline cv::Rect cellRect(int x, int y, cv::Size grid, cv::Size image) {
    const cv::Point from(cellEdge(x, grid.width, image.width), cellEdge(y, grid.height, image.height));
    return {from,
            cv::Point(cellEdge(x + 1, grid.width, image.width), cellEdge(y + 1, grid.height, image.height))};
}

/// The frame in grey, recomputed tokens in colour: orange if they changed, blue if they were
/// refreshed by age, magenta if a change was postponed. `image`: CV_8UC3; `reasons`: CV_8U 1xN, a
/// ReuseReason for each token; `grid`: tokens across and down.
cv::Mat drawReuseMap(const cv::Mat& image, const cv::Mat& reasons, cv::Size grid);

}  // namespace mpm::pipeline
